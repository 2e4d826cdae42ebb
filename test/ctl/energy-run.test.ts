/** The whole of `energy run`: its own process, real daemons, a meter on a pseudo-terminal. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJournal } from '../../power/experiment/journal.js';
import type { RunEntry } from '../../power/experiment/record.js';
import { simulated, stopSimulated } from '../power/helpers/simulated.js';
import { assert, missing, root, run, suite, tempDir } from '../tools/suite.js';
import {
  begin,
  childrenOf,
  gate,
  isDone,
  isUnderWay,
  pzem,
  until,
  writePlan,
  type Begun,
} from './helpers/energy-run.js';
import { output, program, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl energy run');
const base = tempDir();
test.after(stopSimulated);

const plan = writePlan(join(base, 'plan.json'));

/** The daemon that serves an arm of a plan whose arms differ in their activations. */
function daemonWith(activations: string, experiment: Begun): number {
  const asked = (pid: number) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(activations);
  const [found, ...others] = childrenOf(experiment).filter(asked);
  assert.ok(found !== undefined && others.length === 0, `daemons with ${activations}`);
  return found;
}

test('18, 19: one of two daemons dies, the machine dies; --resume makes it whole, and analyze finds the same digits', async () => {
  const folder = join(base, 'whole');
  const { address: meter } = pzem();
  const activations = { full: 'f32', gate: 'i16' };
  const settings = (name: 'full' | 'gate') => ({ threads: 1, activations: activations[name] });
  const plan = writePlan(join(base, 'two.json'), {
    idle_s: 1.2,
    arms: [
      { name: 'full', daemon: settings('full') },
      { name: 'gate', daemon: settings('gate'), request: gate },
    ],
  });
  const first = begin(plan, folder, meter);
  const begun = await until(first, (entries) => isUnderWay(entries, 1));
  // The arm of a block's first run is that of its last, too.
  const arm = begun.flatMap((e) => (e.kind === 'run' && e.slot === 0 ? [e.arm] : [])).at(-1);
  const [dying, staying] = arm === 'full' ? (['full', 'gate'] as const) : (['gate', 'full'] as const);
  const [killed, kept] = [daemonWith(activations[dying], first), daemonWith(activations[staying], first)];
  process.kill(killed, 'SIGKILL');
  await until(first, (entries) => isDone(entries, 1) && isUnderWay(entries, 2));
  assert.is(daemonWith(activations[staying], first), kept, 'the other arm keeps its daemon');
  assert.is.not(daemonWith(activations[dying], first), killed);
  first.child.kill('SIGKILL');
  await first.ended;

  const again = ['energy', 'run', plan, '-o', folder, '--meter'];
  const refused = await spikectl([...again, meter]);
  assert.match(refused.stderr, /ERR_EXPERIMENT_INVALID: .*found an experiment: --resume goes on with it/);
  const other = await spikectl([...again, `${meter}&slave=1`, '--resume']);
  assert.match(other.stderr, /ERR_EXPERIMENT_INVALID: .*found a difference in meter\.address/);

  const second = await begin(plan, folder, meter, '--resume').ended;
  const journal = await readJournal(folder);
  assert.equal(journal.at(-1), { kind: 'end', part: 2, how: 'complete' }, second.stderr);
  for (const block of [1, 2])
    assert.is(journal.filter((e) => e.kind === 'block' && e.block === block && e.done).length, 1);
  const died = journal.findIndex(
    (e) => e.kind === 'run' && e.reasons.some(({ reason }) => reason === 'generation-failed'),
  );
  assert.ok(died >= 0, 'the death of the daemon is in the journal');
  assert.is((journal[died] as RunEntry).arm, dying);
  const ended = journal.slice(died).find((e) => e.kind === 'block');
  assert.ok(ended?.kind === 'block' && !ended.done && ended.why !== undefined, 'it voids its block');
  assert.match(second.stderr, /block 2 done/);
  const settled = journal.findLastIndex((e) => e.kind === 'pilot');
  const tokens = new Set(
    journal.slice(settled).flatMap((e) => (e.kind === 'run' && e.reasons.length === 0 ? [e.tokens] : [])),
  );
  assert.is(tokens.size, 1, 'both parts have the same count');
  for (const { daemons } of journal.flatMap((e) => (e.kind === 'part' ? [e.environment] : []))) {
    assert.equal(
      daemons.map(({ arms, own, threads, activations }) => ({ arms, own, threads, activations })),
      (['full', 'gate'] as const).map((name) => ({ arms: [name], own: true, ...settings(name) })),
    );
    for (const { model } of daemons) assert.match(model.file_sha256 ?? '', /^[0-9a-f]{64}$/);
  }

  const written = readFileSync(join(folder, 'result.json'), 'utf8');
  const result = JSON.parse(written) as { simulated: boolean; ended: string };
  assert.ok(result.simulated);
  assert.is(result.ended, 'complete');
  await spikectl(['energy', 'analyze', folder]);
  assert.is(readFileSync(join(folder, 'result.json'), 'utf8'), written);

  const third = await spikectl([...again, meter, '--resume']);
  assert.match(third.stderr, /the experiment is complete, nothing is left to run/);
  assert.is(third.code, second.code);
});

test.needs(missing('bash'), '21: a full disk stops it, and it says so', async () => {
  const folder = join(base, 'full');
  const args = ['energy', 'run', plan, '-o', folder, '--meter', pzem().address];
  // No file may grow beyond 4 KiB: what a write meets on a full disk, for a user without a disk to fill.
  const limited = ['-c', 'ulimit -f 4; exec "$@"', 'bash', process.execPath, program, ...args];
  const { code, stderr } = await run('bash', limited, { timeoutMs: 60_000 });
  assert.is(code, 1, stderr);
  assert.match(stderr, /ERR_FILE_IO: .*(a limit on the size of files|may not grow further)/);
});

test('23: a port where something else answers is refused before anything is written', async () => {
  const folder = join(base, 'wrong');
  const meter = `pzem:${simulated('wattsup').path}`;
  const { code, stderr } = await spikectl(['energy', 'run', plan, '-o', folder, '--meter', meter]);
  assert.is(code, 1);
  assert.match(stderr, /ERR_METER_MISMATCH: |ERR_METER_SILENT: /);
  assert.not(existsSync(folder));
});

test("the paper's plan tells on a fast model that its windows are too short, and which count would do", async () => {
  const paper = join(root, 'models/energy-paper.json');
  const { code, stderr, stdout } = await spikectl([
    'energy',
    'run',
    paper,
    '--dry-run',
    '--meter',
    pzem().address,
  ]);
  assert.match(stdout, /block 1 +ABBA {2}B = gate-k32/);
  if (/tokens +80 a run .* which last (0|1|2)\.\d/.test(stdout)) {
    assert.is(code, 1);
    assert.match(
      stderr,
      /window-too-short: 80 tokens .* set "tokens" to \d+ or more, or "min_seconds" to \d+/,
    );
  }
});

test('--dry-run says order, duration and what would show, and writes nothing', async () => {
  const text = await output(['energy', 'run', plan, '--dry-run', '--json', '--meter', pzem().address], {
    cwd: base,
  });
  const ahead = JSON.parse(text) as {
    order: unknown[];
    seconds_least: number;
    detectable: { step_watts: number };
  };
  assert.is(ahead.order.length, 2);
  assert.is(ahead.detectable.step_watts, 0.1);
  assert.ok(ahead.seconds_least > 8 * 1.5);
});

test('refuses what no arm may ask for', async () => {
  const wrong = join(base, 'wrong.json');
  const refused = async (request: object, message: RegExp) => {
    writeFileSync(wrong, JSON.stringify({ name: 'w', prompt: 'x', tokens: 9, arms: [{ name: 'a' }, { name: 'b', request }] })); // prettier-ignore
    const { code, stderr } = await spikectl(['energy', 'run', wrong, '--meter', 'pzem:/dev/null']);
    assert.is(code, 1);
    assert.match(stderr, message);
  };
  await refused(
    { max_tokens: 3 },
    /ERR_PLAN_INVALID: .*wrong\.json: arms\[1\]\.request\.max_tokens: expected no such key/,
  );
  await refused(
    { head: { mode: 'best' } },
    /ERR_PLAN_INVALID: .*arms\[1\]\.request: head\.mode: expected full or scan/,
  );
  await refused({ temperature: 1 }, /ERR_PLAN_INVALID: .*arms\[1\]\.request\.seed: expected a seed/);
});

test.run();
