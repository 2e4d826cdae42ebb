/** server.metrics of a real daemon: what it counts, that others can read it, and that docs/metrics.md says what it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseMetrics, type Sample } from '../../client/ctl/metrics/parse.js';
import type { Client } from '../../client/index.js';
import { memoryMetrics, metricTable } from '../../daemon/metrics/table.js';
import { Tally } from '../../daemon/metrics/tally.js';
import { assert, root, run, suite, which } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('metrics');
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  const model = await goldenModel(smallCase, { name: 'small', weights: 'int8' });
  daemon = await DaemonProcess.start(['--model', model, '--prefix-cache', '8']);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  const { code } = await daemon.stop();
  assert.is(code, 0, daemon.stderr);
});

/** Sum of the samples of this name that have these labels. */
function sum(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  const fits = (sample: Sample): boolean =>
    sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
  return samples.filter(fits).reduce((total, { value }) => total + value, 0);
}

const read = async (): Promise<Sample[]> => parseMetrics(await client.serverMetrics());

async function change(
  work: () => Promise<void>,
): Promise<(name: string, labels?: Record<string, string>) => number> {
  const before = await read();
  await work();
  const after = await read();
  return (name, labels) => sum(after, name, labels) - sum(before, name, labels);
}

const prompt = Array.from({ length: 70 }, (_, i) => (i * 7) % 500);

test('a generation is counted token by token, its waits and its head too', async () => {
  const rise = await change(async () => {
    const { result } = client.generate({
      tokens: prompt,
      max_tokens: 9,
      temperature: 0,
      ignore_eos: true,
      head: { mode: 'certified' },
    });
    const { head, prompt_tokens: fed } = await result;
    assert.is(fed, 70);
    assert.is(head.steps, 9);
  });
  assert.is(rise('spiked_generated_tokens_total'), 9);
  assert.is(rise('spiked_prompt_tokens_total'), 70);
  assert.is(rise('spiked_cached_tokens_total'), 0);
  assert.is(rise('spiked_head_steps_total', { mode: 'certified' }), 9);
  assert.is(rise('spiked_head_proved_total'), 9);
  assert.is(rise('spiked_generations_total', { stop_reason: 'length' }), 1);
  assert.is(rise('spiked_requests_total', { method: 'text.generate', outcome: 'ok' }), 1);
  assert.is(rise('spiked_queue_wait_seconds_count'), 1);
  assert.is(rise('spiked_time_to_first_token_seconds_count'), 1);
  assert.is(rise('spiked_inter_token_seconds_count'), 8);
  assert.ok(rise('spiked_inter_token_seconds_sum') > 0);
  for (const part of ['blocks', 'kv', 'head'])
    assert.ok(rise('spiked_touched_bytes_total', { part }) > 0, part);
  for (const part of ['mixer', 'ffn']) {
    const [active, all] = [
      rise('spiked_active_columns_total', { part }),
      rise('spiked_columns_total', { part }),
    ];
    assert.ok(active > 0 && active < all, `${part}: ${String(active)} of ${String(all)}`);
  }
});

test('what the summary says of head and activity is what the counters rose by', async () => {
  let result: Awaited<ReturnType<Client['generate']>['result']> | undefined;
  const rise = await change(async () => {
    const params = { tokens: [3, 1, 4], max_tokens: 20, temperature: 0, ignore_eos: true };
    result = await client.generate({ ...params, head: { mode: 'gate', threshold: 1 } }).result;
  });
  assert.ok(result);
  assert.is(rise('spiked_head_triggered_total'), result.head.triggered);
  assert.is(rise('spiked_head_rows_total'), result.head.rows);
  assert.is(rise('spiked_touched_bytes_total', { part: 'head' }), result.head.bytes);
  const share = (part: string): number =>
    rise('spiked_active_columns_total', { part }) / rise('spiked_columns_total', { part });
  assert.is(share('mixer'), result.activity.mixer);
  assert.is(share('ffn'), result.activity.ffn);
});

test('what a prompt takes from the prefix cache is counted apart', async () => {
  const rise = await change(async () => {
    const { result } = client.generate({ tokens: [...prompt, 5], max_tokens: 1 });
    assert.is((await result).cached_tokens, 64);
  });
  assert.is(rise('spiked_cached_tokens_total'), 64);
  assert.is(rise('spiked_prompt_tokens_total'), 7);
});

test('errors by code, methods that clients make up as one', async () => {
  const rise = await change(async () => {
    await client.generate({ tokens: [], max_tokens: 1 }).result.catch(() => undefined);
    await client.call('model.unload', { model: 'nobody' }).catch(() => undefined);
    for (const method of ['a.b', 'c.d'])
      await client.call(method as 'server.info', {}).catch(() => undefined);
    await client.score({ tokens: [1, 2, 3] });
  });
  assert.is(rise('spiked_requests_total', { method: 'text.generate', outcome: 'ERR_PROMPT_EMPTY' }), 1);
  assert.is(rise('spiked_requests_total', { method: 'model.unload', outcome: 'ERR_MODEL_NOT_FOUND' }), 1);
  assert.is(rise('spiked_requests_total', { method: 'unknown', outcome: 'ERR_METHOD_UNKNOWN' }), 2);
  assert.is(rise('spiked_requests_total', { method: 'text.score', outcome: 'ok' }), 1);
  assert.is(rise('spiked_prompt_tokens_total'), 3);
});

test('sessions that are open', async () => {
  const rise = await change(async () => {
    await client.call('session.open', {});
  });
  assert.is(rise('spiked_sessions_open'), 1);
});

test('connections come and go', async () => {
  const before = await read();
  const other = await daemon.client();
  await other.serverInfo();
  const during = await read();
  assert.is(sum(during, 'spiked_connections'), sum(before, 'spiked_connections') + 1);
  await other.close();
  assert.is(sum(during, 'spiked_connections_refused_total'), 0);
  const deadline = performance.now() + 10_000;
  while (sum(await read(), 'spiked_connections') !== sum(before, 'spiked_connections'))
    assert.ok(performance.now() < deadline, 'the connection is counted for ever');
});

test('every value is a number, every family is one of the table, buckets add up', async () => {
  const text = await client.serverMetrics();
  const samples = parseMetrics(text);
  const known = new Set<string>([...Object.keys(metricTable), ...memoryMetrics.values()]);
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  assert.ok(families.length > 25);
  for (const [, name = '', type = ''] of families) {
    assert.ok(known.has(name), name);
    const row = (metricTable as Record<string, { type: string }>)[name];
    assert.is(type, row?.type ?? 'gauge', name);
    assert.is(name.endsWith('_total'), type === 'counter', name);
  }
  for (const { name, value } of samples) assert.ok(Number.isFinite(value), name);
  const buckets = samples.filter(({ name }) => name === 'spiked_inter_token_seconds_bucket');
  assert.is(buckets.at(-1)?.labels['le'], '+Inf');
  assert.is(buckets.at(-1)?.value, sum(samples, 'spiked_inter_token_seconds_count'));
  buckets.forEach(({ value }, i) => assert.ok(value >= (buckets[i - 1]?.value ?? 0)));
});

/** A Python that has prometheus_client. */
async function findPython(): Promise<string | undefined> {
  for (const python of ['/usr/bin/python3', which('python3')])
    if (python !== undefined && (await run(python, ['-c', 'import prometheus_client'])).code === 0)
      return python;
  return undefined;
}
const python = await findPython();

test.needs(
  python === undefined ? 'python3-prometheus-client is not installed' : undefined,
  "Prometheus' own reader finds the same",
  async () => {
    const text = await client.serverMetrics();
    const { code, stdout, stderr } = await run(
      python ?? '',
      [
        '-c',
        `import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
print(json.dumps([[s.name, s.labels, s.value] for f in families(sys.stdin.read()) for s in f.samples]))`,
      ],
      { input: text },
    );
    assert.is(code, 0, stderr);
    const theirs = JSON.parse(stdout) as [string, Record<string, string>, number][];
    const ours = parseMetrics(text).map(({ name, labels, value }) => [name, labels, value]);
    assert.equal(theirs, ours);
  },
);

test('docs/metrics.md lists exactly the metrics there are', () => {
  const page = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(spiked_\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)].map((row) =>
    row.slice(1),
  );
  const expected = Object.entries(metricTable).map(([name, { type, labels, help }]) => [
    name,
    type,
    labels.map((label) => `\`${label}\``).join(', ') || '–',
    help,
  ]);
  assert.equal(rows, expected);
});

test('a tally counts a value at a bound below it, and everything at the end', () => {
  const tally = new Tally([1, 2]);
  for (const value of [0.5, 1, 1.5, 2, 2.5]) tally.add(value);
  assert.equal(tally.cumulative(), [2, 4, 5]);
  assert.is(tally.sum, 7.5);
});

test.run();
