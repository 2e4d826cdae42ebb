import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, suite } from '../tools/suite.js';
import { goldenCase, goldenModel, scratch, synthModel } from './helpers/models.js';
import { failure, json, output, program } from './helpers/spikectl.js';
import { xmlFaults } from './helpers/xml.js';

const test = suite('spikectl bench paper');

interface Paper {
  quick: boolean;
  models: { id: string; weights: string; layout_plan: string; data_sha256: string; weight_bytes: number }[];
  settings: {
    id: string;
    repetitions: {
      peak_rss_bytes: number;
      sampled_rss_bytes: number;
      read_bandwidth_gb_s?: number;
      result: Record<string, unknown>;
    }[];
  }[];
  tables: Record<string, Record<string, unknown>[]>;
  paper: Record<string, unknown>;
}

const quick = (model: string, folder: string, only: string, ...more: string[]) => [
  ...['bench', 'paper', model, '--quick', '--only', only, '-o', folder, '--threads', '2', ...more],
];

test('timed tables: raw repetitions, report and charts; the exported files are gone', async () => {
  const folder = scratch('paper-timed');
  const model = await synthModel('paper', { tokenizer: true });
  const names = (await output(quick(model, folder, 'precision,threads,prefill,layout'))).trim().split('\n');
  const charts = ['formats.svg', 'threads.svg', 'prefill.svg', 'layout.svg'];
  assert.equal(
    names,
    ['paper.json', 'report.md', ...charts].map((name) => join(folder, name)),
  );
  assert.equal(readdirSync(folder).sort(), ['paper.json', 'report.md', ...charts].sort());
  for (const name of charts) assert.equal(xmlFaults(readFileSync(join(folder, name), 'utf8')), [], name);
  const found = JSON.parse(readFileSync(join(folder, 'paper.json'), 'utf8')) as Paper;
  assert.equal(found.models.map(({ id }) => id).sort(), ['f32', 'f32-column', 'f32-row', 'int4mix', 'int8']);
  assert.is(new Set(found.models.map((file) => file.data_sha256)).size, 5);
  const bytes = (id: string) => found.models.find((file) => file.id === id)?.weight_bytes ?? NaN;
  assert.ok(bytes('int4mix') < bytes('int8') && bytes('int8') < bytes('f32'));
  for (const { id, repetitions } of found.settings) {
    assert.is(repetitions.length, 1, id);
    const [one] = repetitions;
    assert.ok(Number(one?.read_bandwidth_gb_s) > 0 && Number(one?.result['tokens_per_s']) > 0, id);
    // Node alone takes more than 20 MiB.
    assert.ok((one?.peak_rss_bytes ?? 0) > 20 * 2 ** 20 && (one?.sampled_rss_bytes ?? 0) > 0, id);
  }
  assert.equal(
    found.tables['threads']?.map((row) => [row['threads'], row['same_ids']]),
    [
      [1, true],
      [2, true],
    ],
  );
  assert.is(found.tables['prefill']?.length, 6);
  const report = readFileSync(join(folder, 'report.md'), 'utf8');
  assert.match(report, /Quick run/);
  for (const title of ['Weight formats', 'Thread scaling', 'Prefill', 'Layout of FP32 weights'])
    assert.ok(report.includes(`## ${title}`));
  assert.not.match(report, /NaN|undefined/);
});

test('numerics: f32 activations are their own reference, i16 lies closer than i8; golden beside it', async () => {
  const folder = scratch('paper-numerics');
  const model = await goldenModel('e_base194m', 'f32');
  const args = quick(
    model,
    folder,
    'numerics,perplexity',
    '--golden',
    goldenCase('e_base194m'),
    '--keep-models',
  );
  const found = (await json(args)) as unknown as Paper;
  const rows = found.tables['numerics'] ?? [];
  const row = (weights: string, activations: string) =>
    rows.find((one) => one['weights'] === weights && one['activations'] === activations) as {
      logits: {
        mean_abs: number;
        max_abs: number;
        top1: number;
        greedy_equal: number;
        greedy_tokens: number;
      };
      perplexity: { perplexity: number };
      golden: { max_abs: number; positions: number };
    };
  assert.is(rows.length, 7);
  for (const weights of ['f32', 'int8', 'int4mix']) {
    const { logits } = row(weights, 'f32');
    assert.equal(
      [logits.mean_abs, logits.max_abs, logits.top1, logits.greedy_equal],
      [0, 0, 1, logits.greedy_tokens],
    );
  }
  assert.ok(row('int8', 'i16').logits.mean_abs < row('int8', 'i8').logits.mean_abs);
  assert.ok(row('f32', 'f32').golden.max_abs < row('int8', 'f32').golden.max_abs);
  assert.ok(row('f32', 'f32').golden.positions > 20);
  const [f32] = found.tables['perplexity'] ?? [];
  assert.is(f32?.['perplexity'], row('f32', 'f32').perplexity.perplexity);
  assert.ok(
    existsSync(join(folder, 'models/int4mix.gguf')) && existsSync(join(folder, 'models/golden-int8.gguf')),
  );
});

test('head: five gates, their trace adds up', async () => {
  const folder = scratch('paper-head');
  const args = quick(await synthModel('paper-head'), folder, 'head');
  const rows = ((await json(args)) as unknown as Paper).tables['head'] ?? [];
  assert.equal(
    rows.map(({ scope, k, threshold }) => [scope, k, threshold]),
    [
      ['projection', 16, 0.5],
      ['projection', 32, 0.5],
      ['projection', 64, 0.5],
      ['head', 32, 4],
      ['head', 64, 4],
    ],
  );
  for (const row of rows) {
    assert.is(row['steps'], 24);
    assert.is(row['rows'], Number(row['triggered']) * Number(row['k']));
    assert.ok(Math.abs(Number(row['reduction_percent']) - 100 * (1 - Number(row['k']) / 2048)) < 1e-9);
    const share = Object.values(row['share'] as Record<string, number>);
    assert.ok(Math.abs(share.reduce((sum, part) => sum + part, 0) - 1) < 1e-9);
  }
  assert.ok(rows.some((row) => Number(row['triggered']) > 0));
  assert.equal(xmlFaults(readFileSync(join(folder, 'head.svg'), 'utf8')), []);
});

test('Ctrl-C: status 130, no process and no file left', async () => {
  const folder = scratch('paper-stopped');
  const model = await synthModel('stopped');
  const args = ['bench', 'paper', model, '--only', 'threads,prefill', '-o', folder, '--threads', '2'];
  const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore' });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const children = () =>
    readFileSync(`/proc/${child.pid ?? 0}/task/${child.pid ?? 0}/children`, 'utf8').trim();
  let below = '';
  while (child.exitCode === null && below === '') {
    await sleep(10);
    below = children();
  }
  child.kill('SIGINT');
  assert.is((await exited)[0], 130);
  for (const pid of below.split(' ')) assert.not(existsSync(`/proc/${pid}/cwd`), `process ${pid}`);
  assert.equal(existsSync(folder) ? readdirSync(folder) : [], []);
});

test('a measuring process ends when whoever started it is gone', async () => {
  const child = spawn(process.execPath, [program, 'bench', 'measure'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const work = { kind: 'decode', ids: [1], tokens: 1_000_000 };
  const job = { model: await synthModel('orphan'), threads: 1, activations: 'f32', work, bandwidthBytes: 0 };
  child.stdin.write(`${JSON.stringify(job)}\n`);
  await sleep(500);
  assert.is(child.exitCode, null);
  child.stdin.end();
  assert.is((await exited)[0], 1);
});

test('what is wrong is told in one line', async () => {
  const model = await synthModel('wrong');
  assert.match(
    await failure(['bench', 'paper', model, '-o', scratch('x'), '--only', 'speed'], 2, 'ERR_USAGE'),
    /precision, threads.*"speed"/,
  );
  await failure(['bench', 'paper', model], 2, 'ERR_USAGE');
  await failure(quick(scratch('absent.gguf'), scratch('x'), 'layout'), 1, 'ERR_FILE_NOT_FOUND');
  await failure(quick(model, scratch('x'), 'numerics', '--golden', scratch('none')), 1, 'ERR_FILE_NOT_FOUND');
  assert.not(existsSync(scratch('x/models')));
});

test.run();
