/** `energy run` that is ended before its end: by whoever started it, or by the meter. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJournal } from '../../power/experiment/journal.js';
import { stopSimulated } from '../power/helpers/simulated.js';
import { openWattsUp } from '../power/helpers/watts-up.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { begin, childrenOf, isUnderWay, pzem, until, writePlan, type Begun } from './helpers/energy-run.js';

const test = suite('spikectl energy run: the end');
const base = tempDir();
test.after(stopSimulated);

const plan = writePlan(join(base, 'plan.json'));

/** Interrupts it, and finds meter, trace and daemons as they should be left. */
async function interrupt(experiment: Begun): Promise<void> {
  const daemons = childrenOf(experiment);
  assert.is(daemons.length, 1, 'one daemon for both arms');
  experiment.child.kill('SIGINT');
  const { code, stderr } = await experiment.ended;
  assert.is(code, 130, stderr);
  assert.match(stderr, /ERR_CANCELLED: stopped by SIGINT/);
  assert.match(stderr, /--resume goes on/);
  const end = (await readJournal(experiment.folder)).at(-1);
  assert.ok(end?.kind === 'end' && end.how === 'aborted', JSON.stringify(end));
  const trace = readFileSync(join(experiment.folder, 'parts/001/trace/trace.json'), 'utf8');
  assert.ok((JSON.parse(trace) as { end?: unknown }).end, 'the trace was closed');
  for (const pid of daemons) assert.not(existsSync(`/proc/${pid}`), `daemon ${pid}`);
}

test('22: Ctrl-C in a run drops the half block, stops the daemon, and says what is left', async () => {
  const experiment = begin(plan, join(base, 'interrupted'), pzem().address);
  await until(experiment, (entries) => isUnderWay(entries, 1));
  await interrupt(experiment);
  const block = (await readJournal(experiment.folder)).at(-2);
  assert.ok(block?.kind === 'block' && !block.done && block.why === 'aborted', JSON.stringify(block));
});

test('22: Ctrl-C tells a meter that pushes to stop', async () => {
  const meter = openWattsUp();
  // Long before the first block: this meter has a value a second, and pushes from the start.
  const slow = writePlan(join(base, 'slow.json'), { min_seconds: 20, idle_s: 600 });
  const experiment = begin(slow, join(base, 'pushed'), `wattsup:${meter.path}?baud=115200`);
  try {
    await until(experiment, (entries) => entries.length > 0 && /: idle, 600 s$/m.test(experiment.stderr()));
    await interrupt(experiment);
    assert.ok(await meter.toldToStop(), meter.heard());
  } finally {
    meter.stop();
  }
});

test('1: an unplugged meter that stays away ends it; whole blocks are kept', async () => {
  const meter = pzem();
  const experiment = begin(plan, join(base, 'unplugged'), meter.address, '--reconnect', '0.5');
  await until(experiment, (entries) => isUnderWay(entries, 1));
  meter.stop();
  const { code, stderr } = await experiment.ended;
  assert.is(code, 1);
  const [end, block] = (await readJournal(experiment.folder)).reverse();
  assert.ok(end?.kind === 'end' && end.how === 'failed');
  // In a run, or in the pause after it.
  assert.ok(
    block?.kind === 'block' && /meter-lost|ERR_METER_LOST/.test(block.why ?? ''),
    JSON.stringify(block),
  );
  assert.match(stderr, /ERR_METER_LOST: meter: expected it back within 0\.5 s/);
});

test.run();
