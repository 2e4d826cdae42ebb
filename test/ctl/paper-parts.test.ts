import { spawn } from 'node:child_process';
import { chartsOf } from '../../client/ctl/bench/paper/paper-charts.js';
import { planOf, quickScale, threadCounts, type PlanInput } from '../../client/ctl/bench/paper/plan.js';
import { markdownTable, sections } from '../../client/ctl/bench/paper/report.js';
import { rssOfTree } from '../../client/ctl/bench/paper/rss.js';
import { tableNames } from '../../client/ctl/bench/paper/settings.js';
import { interleave, spreadOf } from '../../client/ctl/bench/stats.js';
import type { Tables } from '../../client/ctl/bench/paper/tables.js';
import { assert, suite } from '../tools/suite.js';
import { xmlFaults } from './helpers/xml.js';

const test = suite('bench paper: its parts');

test('median and range', () => {
  assert.equal(spreadOf([3, 1, 2]), { median: 2, min: 1, max: 3 });
  assert.equal(spreadOf([4, 1, 10, 2]), { median: 3, min: 1, max: 10 });
  assert.equal(spreadOf([10, 9]), { median: 9.5, min: 9, max: 10 });
  assert.ok(Number.isNaN(spreadOf([]).median));
});

test('settings are interleaved', () => {
  const order = [...interleave(['A', 'B', 'C'], 2)];
  assert.is(order.map(({ setting }) => setting).join(''), 'ABCABC');
  assert.equal(
    order.map(({ repetition }) => repetition),
    [0, 0, 0, 1, 1, 1],
  );
});

test('thread counts double up to the most, which is always there', () => {
  assert.equal([1, 2, 6, 16].map(threadCounts), [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8, 16]]);
});

const input: PlanInput = {
  tables: tableNames,
  scale: quickScale,
  maxThreads: 2,
  maxContext: 256,
  prompts: {
    prompt: [1, 2, 3],
    promptSource: '',
    text: Array.from({ length: 500 }, (_, i) => i),
    textSource: '',
  },
  golden: undefined,
};

test('a setting that several tables need is measured once', () => {
  const { settings, tables } = planOf(input);
  const ids = settings.map(({ id }) => id);
  assert.is(new Set(ids).size, ids.length);
  for (const table of tableNames) {
    assert.ok((tables[table]?.length ?? 0) > 2 || table === 'threads', table);
    for (const id of tables[table] ?? []) assert.ok(ids.includes(id), id);
  }
  const shared = 'decode int8 f32 1';
  for (const table of ['precision', 'threads', 'numerics'] as const)
    assert.ok(tables[table]?.includes(shared), table);
  assert.is(ids.filter((id) => id === shared).length, 1);
});

test('only what --only asks for is planned; windows fit the context; a prompt is repeated to length', () => {
  const { settings, tables } = planOf({ ...input, tables: ['perplexity', 'prefill'] });
  assert.equal(Object.keys(tables), ['perplexity', 'prefill']);
  for (const { work, timed } of settings) {
    assert.is(timed, work.kind === 'prefill');
    if (work.kind === 'perplexity') assert.equal([work.seq, work.stride, work.ids.length], [256, 256, 300]);
    if (work.kind === 'prefill') assert.equal(work.ids.slice(0, 5), [1, 2, 3, 1, 2]);
  }
});

test('resident memory counts a process and its children', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log(1)'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const alone = await rssOfTree(child.pid ?? 0);
    assert.ok(alone > 2 ** 22, String(alone));
    assert.ok((await rssOfTree(process.pid)) > alone + 2 ** 22);
  } finally {
    child.kill('SIGKILL');
  }
  assert.is(await rssOfTree(2 ** 22 + 1), 0);
});

const spread = (median: number) => ({ median, min: median * 0.9, max: median * 1.1 });
const rate = (value: number) => ({
  tokens_per_s: spread(value),
  read_bandwidth_gb_s: spread(10),
  share: 0.7,
});
const tables: Tables = {
  precision: (['f32', 'int8', 'int4mix'] as const).map((weights, i) => ({
    weights,
    weights_mib: 30 / (i + 1),
    peak_rss_mib: 50,
    sampled_rss_mib: 49,
    ...rate(10 * (i + 1)),
  })),
  threads: [1, 2, 4].map((threads) => ({ threads, same_ids: true, ...rate(threads) })),
  prefill: [1, 2].flatMap((threads) => [16, 64, 512].map((tokens) => ({ threads, tokens, ...rate(tokens) }))),
  layout: (['column', 'row', 'mixed'] as const).map((layout) => ({ layout, ...rate(3) })),
  head: [16, 32].map((k) => ({
    scope: 'projection',
    k,
    threshold: 0.5,
    steps: 80,
    triggered: 54,
    rows: 54 * k,
    reduction_percent: 99.9,
    share: { projection: 0.6, prior: 0.3, selection: 0.09, verification: 0.01 },
    tokens_per_s: spread(3),
    baseline_tokens_per_s: spread(2),
    ids_equal: true,
  })),
};

test('charts are well-formed, with a mark for every value, titles, axis names and ticks', () => {
  const charts = chartsOf(tables, 'a <model> & "more"');
  const marks: Record<string, [mark: string, count: number, ranges: number, texts: string[]]> = {
    'formats.svg': ['bar', 6, 3, ['decode, tokens/s', 'weights, MiB', 'FP32', 'INT4mix']],
    // One more of each series is in the legend.
    'threads.svg': ['mark', 4, 3, ['threads', 'decode, tokens/s', '4', 'median and range']],
    'prefill.svg': ['mark', 8, 6, ['tokens of the prompt', '512', '1 thread', '2 threads']],
    'layout.svg': ['bar', 3, 3, ['all column-major', 'mixed']],
    'head.svg': ['part', 8, 0, ['projection, K = 16', 'verification', '60 %', 'share of head time']],
  };
  assert.equal([...charts.keys()].sort(), Object.keys(marks).sort());
  for (const [name, svg] of charts) {
    assert.equal(xmlFaults(svg), [], name);
    const [mark, count, ranges, texts] = marks[name] ?? ['', 0, 0, []];
    assert.is(svg.split(`class="${mark}"`).length - 1, count, `${name} ${mark}`);
    assert.is(svg.split('class="range"').length - 1, ranges, `${name} ranges`);
    for (const part of texts) assert.ok(svg.includes(`>${part}</text>`), `${name}: ${part}`);
    assert.ok(svg.includes('a &lt;model> &amp; &quot;more&quot;'), name);
    assert.match(svg, /^<svg [^>]*viewBox="0 0 \d+ \d+"[^>]*font-family="sans-serif"/);
    assert.ok(svg.split('class="tick"').length - 1 >= 6, `${name} ticks`);
    assert.not.match(svg, /NaN|undefined|Infinity/);
  }
  assert.is(chartsOf({ layout: tables.layout ?? [] }, '').size, 1);
});

test('the checker of XML finds planted faults', () => {
  assert.equal(xmlFaults('<a b="1"><c/>x &amp; y</a>'), []);
  for (const bad of ['<a><b></a>', '<a b=1/>', '<a>x & y</a>', '<a', '<a/><b/>', '<a b="<"/>'])
    assert.ok(xmlFaults(bad).length > 0, bad);
});

test('the report puts our values beside the paper’s', () => {
  const text = sections(tables).join('\n');
  assert.match(
    text,
    /\| INT8 \| 15\.0 \| 20\.00 \(18\.00 to 22\.00\) \|.*\| 1087\.4 \| 23\.31 \| 1175\.9 \|/,
  );
  assert.match(text, /\| INT4mix \/ INT8 \| 0\.667 \| 1\.500 \|.*\| 0\.826 \| 0\.534 \|/);
  assert.match(text, /\| 4 \| 4\.00 .*\| 4\.00 \|.*\| yes \| 47\.90 \| 2\.12 \|/);
  assert.match(text, /\| 512 \| 1 \|.*\| 29\.86 \|/);
  assert.match(text, /\| all row-major \|.*\| 10\.4 \|/);
  assert.match(
    text,
    /\| projection \| 0\.5 \| 16 \| 80 \| 54 \| 864 \| 99\.900 % \| 60\.0 %.*\| yes \| 99\.972 % \|/,
  );
  assert.is(markdownTable(['a', 'b'], [['x|y', '1']]), '| a | b |\n| --- | ---: |\n| x\\|y | 1 |');
});

test.run();
