/** The whole of `energy run`: its own process, real daemons, a meter on a pseudo-terminal. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJournal } from '../../power/experiment/journal.js';
import type { JournalEntry } from '../../power/experiment/record.js';
import { simulated, type Simulated } from '../power/helpers/simulated.js';
import { assert, missing, root, run, suite, tempDir } from '../tools/suite.js';
import { output, program, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl energy run');
const base = tempDir();
const periodMs = 100;
const meters: Simulated[] = [];
test.after(() => meters.forEach((meter) => meter.stop()));

/** Runs of less than two seconds; a busy machine may lose a meter of 10 Hz now and then, and the block is then done again. */
const plan = join(base, 'plan.json');
writeFileSync(
  plan,
  JSON.stringify({
    name: 'test',
    prompt: 'It was',
    min_seconds: 1.7,
    arms: [
      { name: 'full' },
      { name: 'gate', request: { head: { mode: 'gate', scope: 'head', threshold: 4 } } },
    ],
    blocks: 2,
    redo_blocks: 20,
    trim_s: 0,
    idle_s: 1.2,
    cool_down_s: 0.1,
    warm_up: { slope_percent_per_min: 1000, min_s: 0, max_s: 0 },
  }),
);

function address(kind = 'pzem', speaks = kind, period = periodMs): string {
  const meter = simulated(speaks, { watts: 10.3, measuring: { periodMs: period } });
  meters.push(meter);
  return `${kind}:${meter.path}`;
}
const pzem = () => `${address()}?update_ms=${periodMs}`;

interface Begun {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; stderr: string }>;
}

function begin(folder: string, meter: string, ...more: string[]): Begun {
  const args = [program, 'energy', 'run', plan, '-o', folder, '--meter', meter, ...more];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000);
  const ended = once(child, 'close').then(([code]) => {
    clearTimeout(timer);
    return { code: code as number | null, stderr };
  });
  return { child, ended };
}

/** Waits until the journal holds what is asked for. */
async function until(
  folder: string,
  { child }: Begun,
  holds: (entries: JournalEntry[]) => boolean,
): Promise<void> {
  for (;;) {
    if (existsSync(join(folder, 'journal.jsonl')) && holds(await readJournal(folder))) return;
    assert.is(child.exitCode, null, 'ended before that');
    await sleep(50);
  }
}

/** Whether a block is open and has a good run: one that was too short ends its block, and a pilot follows. */
const isUnderWay = (entries: readonly JournalEntry[], block: number) => {
  const last = entries.at(-1);
  return last?.kind === 'run' && last.block === block && last.reasons.length === 0;
};
const isDone = (entries: readonly JournalEntry[], block: number) =>
  entries.some((entry) => entry.kind === 'block' && entry.block === block && entry.done);

/** Processes that this one started. */
function childrenOf({ child }: Begun): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(parent) === child.pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

test('18, 19: a daemon dies, the machine dies; --resume makes it whole, and analyze finds the same digits', async () => {
  const folder = join(base, 'whole');
  const meter = pzem();
  const first = begin(folder, meter);
  await until(folder, first, (entries) => isUnderWay(entries, 1));
  const [daemon] = childrenOf(first);
  assert.ok(daemon, 'no daemon');
  process.kill(daemon, 'SIGKILL');
  await until(folder, first, (entries) => isDone(entries, 1) && isUnderWay(entries, 2));
  first.child.kill('SIGKILL');
  await first.ended;

  const refused = await spikectl(['energy', 'run', plan, '-o', folder, '--meter', meter]);
  assert.match(refused.stderr, /ERR_EXPERIMENT_INVALID: .*found an experiment: --resume goes on with it/);
  const other = await spikectl([
    'energy',
    'run',
    plan,
    '-o',
    folder,
    '--meter',
    `${meter}&slave=1`,
    '--resume',
  ]);
  assert.match(other.stderr, /ERR_EXPERIMENT_INVALID: .*found a difference in meter\.address/);

  const second = await begin(folder, meter, '--resume').ended;
  const journal = await readJournal(folder);
  assert.equal(journal.at(-1), { kind: 'end', part: 2, how: 'complete' }, second.stderr);
  for (const block of [1, 2])
    assert.is(journal.filter((e) => e.kind === 'block' && e.block === block && e.done).length, 1);
  const died = journal.findIndex(
    (e) => e.kind === 'run' && e.reasons.some(({ reason }) => reason === 'generation-failed'),
  );
  assert.ok(died >= 0, 'the death of the daemon is in the journal');
  const ended = journal.slice(died).find((e) => e.kind === 'block');
  assert.ok(ended?.kind === 'block' && !ended.done && ended.why !== undefined, 'it voids its block');
  assert.match(second.stderr, /block 2 done/);
  const settled = journal.findLastIndex((e) => e.kind === 'pilot');
  const tokens = new Set(
    journal.slice(settled).flatMap((e) => (e.kind === 'run' && e.reasons.length === 0 ? [e.tokens] : [])),
  );
  assert.is(tokens.size, 1, 'both parts have the same count');
  const [part] = journal.flatMap((e) => (e.kind === 'part' ? [e.environment] : []));
  assert.match(part?.daemons[0]?.model.file_sha256 ?? '', /^[0-9a-f]{64}$/);
  assert.equal(part?.daemons[0]?.arms, ['full', 'gate']);

  const written = readFileSync(join(folder, 'result.json'), 'utf8');
  const result = JSON.parse(written) as { simulated: boolean; ended: string };
  assert.ok(result.simulated);
  assert.is(result.ended, 'complete');
  await spikectl(['energy', 'analyze', folder]);
  assert.is(readFileSync(join(folder, 'result.json'), 'utf8'), written);

  const third = await spikectl(['energy', 'run', plan, '-o', folder, '--meter', meter, '--resume']);
  assert.match(third.stderr, /the experiment is complete, nothing is left to run/);
  assert.is(third.code, second.code);
});

test('22: Ctrl-C stops meter and daemons, and says what is left', async () => {
  const folder = join(base, 'interrupted');
  const experiment = begin(folder, pzem());
  await until(folder, experiment, (entries) => isUnderWay(entries, 1));
  const daemons = childrenOf(experiment);
  experiment.child.kill('SIGINT');
  const { code, stderr } = await experiment.ended;
  assert.is(code, 130, stderr);
  assert.match(stderr, /ERR_CANCELLED: stopped by SIGINT/);
  const [block, end] = (await readJournal(folder)).slice(-2);
  assert.ok(block?.kind === 'block' && !block.done && block.why === 'aborted', JSON.stringify(block));
  assert.ok(end?.kind === 'end' && end.how === 'aborted');
  const trace = JSON.parse(readFileSync(join(folder, 'parts/001/trace/trace.json'), 'utf8')) as {
    end?: unknown;
  };
  assert.ok(trace.end, 'the trace was closed');
  assert.equal(
    daemons.filter((pid) => existsSync(`/proc/${pid}`)),
    [],
  );
});

test('1: an unplugged meter that stays away ends it; whole blocks are kept', async () => {
  const folder = join(base, 'unplugged');
  const meter = simulated('pzem', { measuring: { periodMs } });
  const experiment = begin(folder, `pzem:${meter.path}?update_ms=${periodMs}`, '--reconnect', '0.5');
  await until(folder, experiment, (entries) => isUnderWay(entries, 1));
  meter.stop();
  const { code, stderr } = await experiment.ended;
  assert.is(code, 1);
  const [end, block] = (await readJournal(folder)).reverse();
  assert.ok(end?.kind === 'end' && end.how === 'failed');
  // In a run, or in the pause after it.
  assert.ok(
    block?.kind === 'block' && /meter-lost|ERR_METER_LOST/.test(block.why ?? ''),
    JSON.stringify(block),
  );
  assert.match(stderr, /ERR_METER_LOST: meter: expected it back within 0\.5 s/);
});

test.needs(missing('bash'), '21: a full disk stops it, and it says so', async () => {
  const folder = join(base, 'full');
  const args = ['energy', 'run', plan, '-o', folder, '--meter', pzem()];
  // No file may grow beyond 4 KiB: what a write meets on a full disk, for a user without a disk to fill.
  const limited = ['-c', 'ulimit -f 4; exec "$@"', 'bash', process.execPath, program, ...args];
  const { code, stderr } = await run('bash', limited, { timeoutMs: 60_000 });
  assert.is(code, 1, stderr);
  assert.match(stderr, /ERR_FILE_IO: .*(a limit on the size of files|may not grow further)/);
});

test('23: a port where something else answers is refused before anything is written', async () => {
  const folder = join(base, 'wrong');
  const { code, stderr } = await spikectl([
    'energy',
    'run',
    plan,
    '-o',
    folder,
    '--meter',
    address('pzem', 'wattsup'),
  ]);
  assert.is(code, 1);
  assert.match(stderr, /ERR_METER_MISMATCH: |ERR_METER_SILENT: /);
  assert.not(existsSync(folder));
});

test("the paper's plan tells on a fast model that its windows are too short, and which count would do", async () => {
  const paper = join(root, 'models/energy-paper.json');
  const { code, stderr, stdout } = await spikectl(['energy', 'run', paper, '--dry-run', '--meter', pzem()]);
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
  const text = await output(['energy', 'run', plan, '--dry-run', '--json', '--meter', pzem()], { cwd: base });
  const ahead = JSON.parse(text) as {
    order: unknown[];
    seconds_least: number;
    detectable: { step_watts: number };
  };
  assert.is(ahead.order.length, 2);
  assert.is(ahead.detectable.step_watts, 0.1);
  assert.ok(ahead.seconds_least > 8 * 1.7);
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
