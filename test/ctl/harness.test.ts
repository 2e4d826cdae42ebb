import { readFileSync } from 'node:fs';
import { plain, type Configuration } from '../../client/ctl/bench/harness/configurations.js';
import { broken, outcomes } from '../../client/ctl/bench/harness/outcome.js';
import type { Measured } from '../../client/ctl/bench/harness/run.js';
import { assert, suite } from '../tools/suite.js';
import { scratch, synthModel } from './helpers/models.js';
import { json, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl bench harness');

interface Line {
  name: string;
  exact: boolean;
  refused: string | null;
  prompts: number;
  prompts_matched: number;
  tokens_per_s: number;
  tokens_per_s_min: number;
  tokens_per_s_max: number;
  steady_rss_bytes: number;
  peak_rss_bytes: number;
  head_rows_per_step: number;
}

test('every configuration has its line, with ids, speed and memory; -o has the same as a report', async () => {
  const model = await synthModel('harness', { tokenizer: true });
  const report = scratch('harness.md');
  const args = [
    'bench',
    'harness',
    model,
    '--rounds',
    '1',
    '--threads',
    '1',
    '--only',
    'certified,full-drafts,full-low',
    '-o',
    report,
  ];
  const env = { SPIKED_BITNET_GGUF: scratch('absent.gguf') };
  const found = await json(args, { env, timeoutMs: 400_000 });
  assert.equal(
    [found['prompts'], found['tokens'], found['rounds']],
    ["15 texts in the model's tokens", 20, 1],
  );
  const { random_weights: random, published } = found['model'] as Record<string, unknown>;
  assert.equal([random, published], [true, false]);
  const lines = found['configurations'] as Line[];
  assert.equal(
    lines.map(({ name }) => name),
    ['full', 'certified', 'full-drafts', 'full-low'],
  );
  assert.match(lines[3]?.refused ?? '', /memory|ternary/);
  const text = readFileSync(report, 'utf8');
  assert.match(text, /\*\*Random weights\.\*\*/);
  for (const line of lines) {
    assert.ok(text.includes(`\n| ${line.name} | `), line.name);
    if (line.refused !== null) continue;
    assert.is(line.prompts, 15);
    if (line.exact) assert.is(line.prompts_matched, 15, line.name);
    assert.ok(line.tokens_per_s_min > 0 && line.tokens_per_s_min <= line.tokens_per_s, line.name);
    assert.ok(line.tokens_per_s <= line.tokens_per_s_max, line.name);
    assert.ok(line.peak_rss_bytes >= line.steady_rss_bytes && line.steady_rss_bytes > 2 ** 20, line.name);
    assert.ok(line.head_rows_per_step > 0, line.name);
  }
});

test('a file that the environment names must be the published one', async () => {
  const env = { SPIKED_BITNET_GGUF: await synthModel('unpublished') };
  const { code, stderr } = await spikectl(['bench', 'harness'], { env });
  assert.is(code, 1);
  assert.match(
    stderr,
    /^spikectl: ERR_MODEL_INVALID: .*unpublished.*expected SHA-256 4221b252.*, found [0-9a-f]{64}/,
  );
  const missing = await spikectl(['bench', 'harness'], {
    env: { SPIKED_BITNET_GGUF: scratch('absent.gguf') },
  });
  assert.equal([missing.code, missing.stderr.includes('ERR_FILE_NOT_FOUND')], [1, true]);
});

function measured(configuration: Configuration, ...rounds: number[][][]): Measured {
  return {
    configuration,
    refused: undefined,
    rounds: rounds.map((ids, i) => ({
      result: {
        kind: 'harness',
        ids,
        tokens_per_s: 10 + i,
        head_rows_per_step: 1,
        fell_back: 0,
        accepted_lengths: null,
        rss_bytes: 5,
      },
      isa: 'scalar',
      load_ms: 1,
      peak_rss_bytes: 7 + i,
      sampled_rss_bytes: 6,
    })),
  };
}

const quick: Configuration = { name: 'quick', head: { mode: 'scan' }, memory: 'normal', exact: false };
const whole = [[1, 2], [3, 4]]; // prettier-ignore
const other = [[1, 2], [3, 5]]; // prettier-ignore

test('ids are held to plain greedy, prompt by prompt', () => {
  const found = outcomes([
    measured(plain, whole, whole),
    measured(quick, other, other),
    measured(quick, whole, other),
  ]);
  assert.equal(
    found.map(({ matched, nPrompts, unsteady }) => [matched, nPrompts, unsteady]),
    [
      [2, 2, []],
      [1, 2, []],
      [1, 2, [1]],
    ],
  );
  const [first] = found;
  assert.equal([first?.tokensPerSecond, first?.peakRssBytes], [{ median: 10.5, min: 10, max: 11 }, 8]);
});

test('what must not be: an exact configuration with other ids, rounds that differ', () => {
  const of = (...all: Measured[]) => broken(outcomes(all));
  const exact = { ...quick, name: 'sure', exact: true };
  assert.is(of(measured(plain, whole), measured(quick, other)), undefined);
  assert.is(of(measured(plain, whole), { ...measured(exact), refused: 'no such head' }), undefined);
  assert.match(
    of(measured(plain, whole), measured(exact, other)) ?? '',
    /^sure: expected .* all 2 .* after 1$/,
  );
  assert.match(of(measured(plain, whole, whole), measured(quick, other, whole)) ?? '', /^quick: .*prompt 1$/);
});

test.run();
