import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError } from '../../../client/protocol/errors.js';
import { assert, suite } from '../../tools/suite.js';
import { Bench } from './bench.js';

const test = suite('rules of an experiment');
const block = ['run', 'run', 'run', 'run', 'block'];
const first = ['1.0', '1.1', '1.2', '1.3'];

test('goes through idle, warm-up, blocks and idle, and leaves every file', async () => {
  const bench = new Bench();
  await bench.run();
  const journal = await bench.journal();
  assert.equal(
    journal.map(({ kind }) => kind),
    ['part', 'idle', 'warm-up', 'pilot', ...block, ...block, 'idle', 'end'],
  );
  const arms = (await bench.runLines()).map((line) => line.split(' ')[1]).join('');
  assert.ok(['abbabaab', 'baababba'].includes(arms), arms);
  assert.equal(journal.at(-1), { kind: 'end', part: 1, how: 'complete' });
  const marks = readFileSync(join(bench.folder, 'runs/2-3.csv'), 'utf8').trimEnd().split('\n');
  assert.is(marks[0], 'seq,t_ns');
  assert.is(marks.length, 25);
  assert.ok(existsSync(join(bench.folder, 'parts/001/trace/trace.json')));
  assert.is(bench.stopped, 1);
  const ahead = bench.events.flatMap((event) => (event.kind === 'preview' ? [event] : []));
  assert.equal(
    ahead.map(({ settled }) => settled),
    [false, true],
  );
  const { watts, measured } = ahead[1]?.preview.detectable ?? {};
  assert.ok(measured === true && Math.abs((watts ?? 0) - 10.05) < 0.1, `at ${watts} W, seen: ${measured}`);
});

test('1: a meter that is lost in a run voids its block, which is done again whole when the meter is back', async () => {
  const bench = new Bench();
  bench.unplugIn = { run: (run) => run === 2, ms: 60 };
  await bench.run({ blocks: 1 });
  const lines = await bench.runLines();
  assert.equal(
    lines.map((line) => line.split(' ')[0]),
    ['1.0', '1.1', ...first],
  );
  assert.match(lines[1] ?? '', /meter-lost$/);
  const blocks = (await bench.journal()).filter(({ kind }) => kind === 'block');
  assert.match(
    JSON.stringify(blocks[0]),
    /"done":false,"why":"run 2 \(.\): meter-lost: meter lost at 0\.\d s of the run"/,
  );
  assert.match(JSON.stringify(blocks[1]), /"done":true/);
  assert.ok(
    existsSync(join(bench.folder, 'runs/1-0.csv')) && existsSync(join(bench.folder, 'runs/1-0-2.csv')),
  );
});

test('1: a meter that does not come back ends the experiment, and --resume goes on with a new part', async () => {
  const bench = new Bench();
  bench.unplugIn = { run: (run) => run === 6, ms: 60_000 };
  const error = await bench.fails({}, { reconnectMs: 50 });
  assert.is(error.code, 'ERR_METER_LOST');
  assert.match(error.message, /expected it back within 0\.05 s/);
  assert.match(JSON.stringify((await bench.journal()).at(-1)), /"how":"failed","why":"ERR_METER_LOST/);
  assert.is(bench.stopped, 1);
  await bench.run({}, { resume: true });
  const lines = await bench.runLines();
  assert.equal(
    lines.map((line) => line.split(' ')[0]),
    [...first, '2.0', '2.1', '2.0', '2.1', '2.2', '2.3'],
  );
  const journal = await bench.journal();
  assert.equal(journal.at(-1), { kind: 'end', part: 2, how: 'complete' });
  assert.is(journal.filter(({ kind }) => kind === 'pilot').length, 1);
  assert.ok(existsSync(join(bench.folder, 'parts/002/trace/samples.csv')));
});

test('1: a meter that is lost more often than the plan allows ends it', async () => {
  const bench = new Bench();
  bench.unplugIn = { run: () => true, ms: 30 };
  const error = await bench.fails({ redo_blocks: 2 });
  assert.is(error.code, 'ERR_METER_LOST');
  assert.match(error.message, /after 2 blocks done again \(redo_blocks\)/);
  assert.is((await bench.runLines()).length, 3);
});

test('18: a daemon that dies is started again, its block done again from the start', async () => {
  const bench = new Bench();
  const failure = new SpikedError('ERR_CONNECTION_LOST', 'the daemon is gone');
  bench.onRun = (run) => (run === 7 ? { failure, marksNs: [], ids: [] } : undefined);
  await bench.run();
  const lines = await bench.runLines();
  assert.is(lines.length, 11);
  assert.match(lines[6] ?? '', /^2\.2 . generation-failed$/);
  assert.is(bench.revived.length, 1);
  assert.ok(bench.remarks().some((text) => text.includes('was started again')));
});

test('20: a run in which the clock was lowered voids its block', async () => {
  const bench = new Bench();
  bench.machine = (runs) => ({ throttled: runs === 3, celsius: 85 });
  await bench.run({ blocks: 1 });
  const lines = await bench.runLines();
  assert.match(lines[2] ?? '', /throttled$/);
  assert.is(lines.length, 8);
});

test('17: fewer tokens, or other ids than the arm gave before, void a run; other ids than the baseline do not', async () => {
  const bench = new Bench();
  bench.onRun = (run, arm) => {
    if (run === 1) return { marksNs: [1n, 2n], ids: [0, 1] };
    if (run === 5) return { ids: [9] };
    return arm === 'b' ? { ids: [1, 2, 3] } : undefined;
  };
  await bench.run({ blocks: 1 });
  const reasons = (await bench.runLines()).map((line) => line.split(' ').slice(2).join());
  assert.equal(reasons, ['unequal-tokens', '', '', '', 'ids-differ', '', '', '', '']);
});

test('22: an abort drops the half block, says so, and stops the meter', async () => {
  const bench = new Bench();
  bench.onRun = (run) => {
    const stop = () => bench.abort.abort(new SpikedError('ERR_CANCELLED', 'stopped by SIGINT'));
    if (run === 6) setTimeout(stop, 50);
    return undefined;
  };
  const error = await bench.fails();
  assert.is(error.code, 'ERR_CANCELLED');
  const [half, end] = (await bench.journal()).slice(-2);
  assert.equal(half, { kind: 'block', part: 1, block: 2, done: false, why: 'aborted' });
  assert.equal(end, { kind: 'end', part: 1, how: 'aborted', why: 'stopped by SIGINT' });
  assert.match((await bench.runLines()).at(-1) ?? '', /^2\.1 . aborted$/);
  assert.is(bench.stopped, 1);
});

test('a hot machine is waited for, as long as the plan says, then warned of', async () => {
  const bench = new Bench();
  bench.machine = (runs) => ({ celsius: runs < 2 ? 40 : 55 });
  await bench.run({ blocks: 1 });
  const warnings = bench
    .remarks()
    .filter((text) => text.includes('15.0 warmer than the first run, after waiting 0.1 s'));
  assert.is(warnings.length, 2, bench.remarks().join('\n'));
});

test('refuses runs that trims and meter would leave nothing of, with the count that would do', async () => {
  const bench = new Bench();
  const error = await bench.fails({ trim_s: 2 });
  assert.is(error.code, 'ERR_PLAN_INVALID');
  assert.match(
    error.message,
    /window-too-short: 24 tokens of arm "." last 0\.\d+ s at \d+ tokens\/s.* set "tokens" to \d+ or more/,
  );
  assert.is((await bench.runLines()).length, 0);
});

test('min_seconds becomes one count for all arms', async () => {
  const bench = new Bench();
  await bench.run({ tokens: undefined, min_seconds: 0.3, blocks: 1 });
  const journal = await bench.journal();
  const tokens = new Set(journal.flatMap((entry) => (entry.kind === 'run' ? [entry.tokens] : [])));
  assert.is(tokens.size, 1);
  const [pilot] = journal.flatMap((entry) => (entry.kind === 'pilot' ? [entry] : []));
  assert.ok(tokens.has(pilot?.tokens ?? 0));
  assert.ok((pilot?.tokens ?? 0) >= 30, String(pilot?.tokens));
});

test.run();
