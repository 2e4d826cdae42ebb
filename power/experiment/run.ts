import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compareClocks, readClocks } from '../trace/clocks.js';
import type { Reason } from '../window/figures.js';
import { nowNs, type Context } from './context.js';
import { writeSynced } from './journal.js';
import { meanWatts } from './meter-feed.js';
import { rateOf } from './pilot.js';
import type { MachineState, RunEntry } from './record.js';
import { tooShortRun } from './run-length.js';
import type { Generated } from './subject.js';

export interface Place {
  readonly block: number;
  readonly slot: number;
  readonly arm: string;
  /** Of the block, from 1. */
  readonly attempt: number;
}

export interface Ran {
  readonly entry: RunEntry;
  /** Decode; null below two tokens. */
  readonly tokensPerSecond: number | null;
}

/** Others' use of the machine that is worth a word, in cores. */
const muchLoad = 0.1;

/**
 * One run, from the machine's state before it to its line in the journal. A run that the world broke has reasons; only the caller's abort
 * and a disk that takes no more are thrown, and an aborted run is in the journal by then.
 *
 * @param ids  SHA-256 of the ids of the arm's runs before; a set of one, or empty
 */
export async function runOnce(
  context: Context,
  place: Place,
  tokens: number,
  ids: ReadonlySet<string>,
  early: readonly string[],
): Promise<Ran> {
  const { subject, feed, report, signal, part } = context;
  const beginNs = nowNs();
  const wasLost = feed.lost;
  const before = await subject.machine();
  const clocks = readClocks();
  const run = await subject.generate(place.arm, tokens, signal, (count) => report({ kind: 'tokens', count }));
  const aborted = signal.aborted;
  const answeredNs = run.answeredNs > run.sentNs ? run.answeredNs : run.sentNs + 1n;
  const change = compareClocks(clocks, readClocks());
  const after = await subject.machine();
  // The sample that covers the end, or the word that there is none.
  if (!aborted)
    await feed.after(answeredNs, (3 * context.updatePeriodNs) / 1e6 + 1000, signal).catch(() => false);
  const entry: RunEntry = {
    kind: 'run',
    part,
    block: place.block,
    slot: place.slot,
    arm: place.arm,
    sent_ns: String(run.sentNs),
    answered_ns: String(answeredNs),
    tokens: run.marksNs.length,
    requests: run.requests,
    ids_sha256: digestIds(run.ids),
    marks: marksPath(place),
    before,
    after,
    reasons: [
      ...(aborted ? [] : losses(context, wasLost, beginNs, run.sentNs)),
      ...reasonsOf(context, place, run, tokens, ids),
      ...(change.suspended ? [{ reason: 'suspended' as const, text: change.notes[0] ?? '' }] : []),
      ...throttling(before, after),
    ],
    warnings: [...early, ...loadWarning(after)],
  };
  await writeMarks(context.folder, entry.marks, run.marksNs);
  await context.journal.add(entry);
  const tokensPerSecond = rateOf(run.marksNs);
  report({
    kind: 'run-done',
    entry,
    tokensPerSecond,
    watts: meanWatts(feed.between(run.sentNs, answeredNs)),
  });
  signal.throwIfAborted();
  return { entry, tokensPerSecond };
}

function losses({ feed }: Context, wasLost: boolean, fromNs: bigint, sentNs: bigint): Reason[] {
  const lostNs = feed.lostBetween(fromNs, nowNs());
  if (!wasLost && lostNs === null && !feed.lost) return [];
  const before = lostNs === null || lostNs <= sentNs;
  const when = before ? 'before the run' : `at ${(Number(lostNs - sentNs) / 1e9).toFixed(1)} s of the run`;
  return [{ reason: 'meter-lost', text: `meter lost ${when}` }];
}

function reasonsOf(
  { signal, plan, updatePeriodNs }: Context,
  { arm }: Place,
  run: Generated,
  tokens: number,
  ids: ReadonlySet<string>,
): Reason[] {
  if (signal.aborted)
    return [{ reason: 'aborted', text: `aborted after ${run.marksNs.length} of ${tokens} tokens` }];
  const reasons: Reason[] = [];
  if (run.failure !== null)
    reasons.push({
      reason: 'generation-failed',
      text: `after ${run.marksNs.length} of ${tokens} tokens: ${run.failure.code}: ${run.failure.message}`,
    });
  else if (run.marksNs.length !== tokens)
    reasons.push({
      reason: 'unequal-tokens',
      text: `expected ${tokens} tokens, found ${run.marksNs.length}`,
    });
  else if (ids.size > 0 && !ids.has(digestIds(run.ids)))
    reasons.push({
      reason: 'ids-differ',
      text: `expected the ids of the runs of "${arm}" before, found others`,
    });
  const short = reasons.length === 0 ? tooShortRun(plan, updatePeriodNs, run) : null;
  if (short !== null) reasons.push(short);
  return reasons;
}

/** A device that cools by lowering a clock was at work, or a core counted being too hot. */
function throttling(before: MachineState, after: MachineState): Reason[] {
  if (!before.throttled && !after.throttled) return [];
  const when = before.throttled ? 'when the run began' : 'during the run';
  const heat = after.celsius === null ? '' : ` (${after.celsius.toFixed(1)} °C)`;
  return [{ reason: 'throttled', text: `too hot: the clock was lowered ${when}${heat}` }];
}

/** Hex, of the ids in decimal, apart by commas. */
export function digestIds(ids: readonly number[]): string {
  return createHash('sha256').update(ids.join(',')).digest('hex');
}

function marksPath({ block, slot, attempt }: Place): string {
  return `runs/${block}-${slot}${attempt > 1 ? `-${attempt}` : ''}.csv`;
}

async function writeMarks(folder: string, path: string, marksNs: readonly bigint[]): Promise<void> {
  await mkdir(join(folder, 'runs'), { recursive: true });
  await writeSynced(join(folder, path), `seq,t_ns\n${marksNs.map((ns, seq) => `${seq},${ns}\n`).join('')}`);
}

function loadWarning({ other_load: load }: MachineState): string[] {
  if (load === null || load < muchLoad) return [];
  return [`other programs used ${load.toFixed(2)} cores during the run`];
}
