/** Runs that are too short for their meter because the machine became faster than the pilot saw it. */
import { assert, suite } from '../../tools/suite.js';
import { Bench } from './bench.js';

const test = suite('length of a run');
const noWarmUp = { min_s: 0, max_s: 0 };

/** Marks so far apart, whatever the clock says. */
function marked(tokens: number, tokenMs: number) {
  const sentNs = process.hrtime.bigint();
  const at = (token: number) => sentNs + BigInt(Math.round(token * tokenMs * 1e6));
  return { sentNs, answeredNs: at(tokens), marksNs: Array.from({ length: tokens }, (_, i) => at(i)) };
}

const tokensOf = async (bench: Bench): Promise<number[]> =>
  (await bench.journal()).flatMap((entry) => (entry.kind === 'run' ? [entry.tokens] : []));

test('one that leaves nothing between its trims voids its block at once, with the length that would do', async () => {
  const bench = new Bench();
  bench.onRun = (run, _, tokens) => (run === 2 ? marked(tokens, 1) : undefined);
  await bench.run({ blocks: 1 });
  assert.equal(
    (await bench.runLines()).map((line) => line.split(' ').slice(2).join()),
    ['', 'window-too-short', '', '', '', ''],
  );
  const [broken] = (await bench.journal()).filter(({ kind }) => kind === 'block');
  assert.match(
    JSON.stringify(broken),
    /"why":"run 2 \(.\): window-too-short: 0\.0230 s, of which 0\.0100 s are trimmed each end: let the run last at least 0\.1 s, about 76 tokens at 1000 tokens\/s"/,
  );
});

test('where every one is too short, it ends after the blocks that may be done again, and says what to do', async () => {
  const bench = new Bench();
  bench.onRun = (_, __, tokens) => marked(tokens, 1);
  const error = await bench.fails({ redo_blocks: 1 });
  assert.is(error.code, 'ERR_EXPERIMENT_INVALID');
  assert.match(
    error.message,
    /after 1 block done again \(redo_blocks\): .*window-too-short: .* about 76 tokens/,
  );
  assert.is((await bench.runLines()).length, 2);
});

test('with min_seconds the count is raised for all runs to come, as long as no block is done', async () => {
  const bench = new Bench();
  bench.onRun = (run, _, tokens) => {
    if (run !== 2) return undefined;
    bench.tokenMs = 0.7;
    return marked(tokens, 0.7);
  };
  await bench.run({ tokens: undefined, min_seconds: 0.4, blocks: 1, warm_up: noWarmUp });
  const entries = await bench.journal();
  const pilots = entries.flatMap((entry) => (entry.kind === 'pilot' ? [entry.tokens] : []));
  const enough = (0.4 * 1.1 * 1000) / 0.7;
  assert.ok(pilots.length === 2 && Math.abs((pilots[1] ?? 0) - enough) <= 2, pilots.join());
  assert.equal((await tokensOf(bench)).slice(2), Array(4).fill(pilots[1]));
  assert.equal(entries.at(-1), { kind: 'end', part: 1, how: 'complete' });
});

test('it stays where a block is done: blocks that are compared have one count', async () => {
  const bench = new Bench();
  bench.onRun = (run, _, tokens) => (run === 5 ? marked(tokens, 0.7) : undefined);
  await bench.run({ tokens: undefined, min_seconds: 0.3, warm_up: noWarmUp });
  const tokens = await tokensOf(bench);
  assert.is(tokens.length, 9);
  assert.is(new Set(tokens).size, 1);
});

test.run();
