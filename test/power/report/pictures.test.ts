import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeReport } from '../../../client/ctl/energy/write-report.js';
import { Thinner } from '../../../power/report/thin.js';
import type { Result } from '../../../power/report/result.js';
import { xmlFaults } from '../../ctl/helpers/xml.js';
import { assert, suite, tempDir } from '../../tools/suite.js';
import { pair, sampleLine, wattsAround, writeSynthetic } from '../helpers/experiments.js';
import type { SyntheticOptions } from '../helpers/synthetic.js';

const test = suite('energy report: files and pictures');

interface Report {
  readonly result: Result;
  readonly text: string;
  readonly paired: string;
  readonly runs: string;
  readonly trace: string;
}

async function reported(options: SyntheticOptions): Promise<Report> {
  const output = join(tempDir(), 'report');
  const { result, paths } = await writeReport(await writeSynthetic(options), output);
  assert.equal(
    paths.map((path) => path.slice(output.length + 1)),
    ['result.json', 'report.md', 'paired.svg', 'runs.svg', 'trace.svg'],
  );
  const [json = '', text = '', paired = '', runs = '', trace = ''] = await Promise.all(paths.map((path) => readFile(path, 'utf8'))); // prettier-ignore
  assert.equal(JSON.parse(json), JSON.parse(JSON.stringify(result)));
  for (const picture of [paired, runs, trace]) {
    assert.equal(xmlFaults(picture), []);
    assert.not.match(picture, /NaN|Infinity|undefined|null/);
  }
  return { result, text, paired, runs, trace };
}

const count = (text: string, name: string): number => text.split(`class="${name}"`).length - 1;

test('three arms: a row a block, a mark a run, a panel a candidate', async () => {
  const { text, paired, runs, trace } = await reported({
    ...pair,
    arms: [...pair.arms, { name: 'k64', watts: wattsAround(10), tokensPerSecond: 11 }],
  });
  assert.is(count(paired, 'candidate'), 2);
  assert.is(count(paired, 'block'), 4);
  assert.is(count(paired, 'pair'), 8);
  assert.is(count(paired, 'floor'), 2);
  assert.is(count(paired, 'interval'), 2);
  for (const panel of paired.split('class="candidate"').slice(1)) {
    const label = Number(/<text [^>]*y="([\d.]+)"[^>]*>within the meter/.exec(panel)?.[1]);
    const points = [...panel.matchAll(/<circle [^>]*cy="([\d.]+)"[^>]*r="(\d)"/g)].map((m) => Number(m[1]) - Number(m[2])); // prettier-ignore
    assert.ok(label < Math.min(...points), `a label at ${label} over points from ${Math.min(...points)}`);
  }
  assert.is(count(runs, 'run'), 16);
  assert.is(count(runs, 'invalid'), 1, 'the one of the legend');
  // The whole, and four blocks; every run in both.
  assert.is(count(trace, 'panel'), 5);
  assert.is(count(trace, 'window'), 32);
  assert.is(count(trace, 'trimmed'), 32);
  assert.is(count(trace, 'tokens'), 4);
  assert.is(count(trace, 'idle'), 2);
  assert.match(
    text,
    /^# Energy per token: synthetic\n\n\*\*k32 uses \d\.\d\d % less energy per token than f32\.\*\*/,
  );
  assert.ok(text.indexOf('uses') < text.indexOf('## Arms'));
  for (const part of ['## Every run', '## How it was measured', '## What does not count', '## Environment', '## Raw files', 'paired.svg', 'runs.svg', 'trace.svg']) assert.ok(text.includes(part), part); // prettier-ignore
});

test('what is invalid is marked and told; one block claims no interval', async () => {
  const { paired, runs, trace, text } = await reported({
    ...pair,
    blocks: 1,
    sample: (t, watts) => (t > 1033 && t < 1035 ? undefined : sampleLine(t, watts)),
  });
  assert.is(count(runs, 'invalid'), 2);
  assert.is(count(trace, 'invalid'), 2);
  assert.is(count(paired, 'invalid'), 1);
  assert.is(count(paired, 'interval'), 0);
  assert.match(text, /Nothing can be said of k32 against f32: too few valid blocks/);
  assert.match(text, /Run 1-0 \(\w+\): `gap`/);
});

test('blocks that contradict each other: factors where percent say nothing, and points that are still apart', async () => {
  const { text, paired } = await reported({
    ...pair,
    arms: [
      { name: 'f32', watts: () => 10, tokensPerSecond: 10 },
      { name: 'k32', watts: (block) => (block === 1 ? 9 : 16), tokensPerSecond: 10 },
    ],
  });
  assert.match(text, /95 % interval −\d\d\.\d\d % to ×\d+, 2 blocks/);
  assert.match(text, /A difference of a factor of \d+(\.\d+)? would have shown/);
  assert.not.match(text + paired, /\d{5} %|e\+/);
  const x = [...paired.matchAll(/class="mean" cx="([\d.]+)"/g)].map((m) => Number(m[1]));
  assert.ok(Math.abs((x[0] ?? 0) - (x[1] ?? 0)) > 50, x.join(', '));
  const bar = /class="interval" d="([^"]+)"/.exec(paired)?.[1] ?? '';
  assert.match(bar, /^M[\d.]+ [\d.]+v12M754 [\d.]+l6 6l-6 6M[\d.]+ [\d.]+H760\.0$/);
});

test('simulated is in the text and in every picture, and only then', async () => {
  for (const simulated of [true, false]) {
    const { text, paired, runs, trace, result } = await reported({ ...pair, blocks: 1, simulated });
    assert.is(result.simulated, simulated);
    for (const file of [text, paired, runs, trace]) assert.is(file.includes('SIMULATED'), simulated);
  }
});

test('names of arms and of the plan are escaped', async () => {
  const { trace, text } = await reported({ ...pair, blocks: 1, plan: { name: 'a < b & "c" | d' } });
  assert.ok(trace.includes('a &lt; b &amp;'));
  assert.ok(text.includes('a < b & "c" | d'));
});

test('a long trace is thinned to the columns, and keeps its extremes and its gaps', () => {
  const [from, to] = [0n, 3_600_000_000_000n];
  const thinner = new Thinner(from, to, 500, 2.5e8);
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < 36_000; i++) {
    if (i > 20_000 && i < 20_100) continue;
    const watts = 10 + Math.sin(i * 0.01) + (i === 12_345 ? 5 : 0);
    [least, most] = [Math.min(least, watts), Math.max(most, watts)];
    thinner.add(
      { tNs: BigInt(i) * 100_000_000n, watts, volts: null, amps: null, joules: null, flags: [] },
      true,
    );
  }
  const points = thinner.points();
  assert.ok(points.length <= 4 * 500 + 2, `${points.length}`);
  const shown = points.flatMap((point) => (point === null ? [] : [point]));
  assert.is(Math.max(...shown.map(({ watts }) => watts)), most);
  assert.is(Math.min(...shown.map(({ watts }) => watts)), least);
  assert.is(points.filter((point) => point === null).length, 1);
  assert.ok(shown.every(({ s }, i) => i === 0 || s > (shown[i - 1]?.s ?? 0)));
});

test.run();
