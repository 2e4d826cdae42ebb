import { join } from 'node:path';
import { SpikedError, type ErrorCode } from '../../client/protocol/errors.js';
import { journalFile, readJournal } from '../experiment/journal.js';
import { orderOf } from '../experiment/order.js';
import type { Plan } from '../experiment/plan.js';
import { planSha256, readPlan } from '../experiment/read-plan.js';
import type { JournalEntry, PartEntry } from '../experiment/record.js';
import { armResults } from './arms.js';
import { attemptsOf, type Attempt } from './attempts.js';
import { compareCandidate } from './compare.js';
import { rawFiles } from './folder.js';
import { idleAround, readIdles, type IdleReading } from './idle.js';
import { experimentNotes } from './notes.js';
import { partOf, readPart, type PartReading } from './part.js';
import type { BlockResult, Result, RunResult } from './result.js';
import { runResult } from './run-result.js';

/** A run before it is known whether it counts. */
export type MeasuredRun = Omit<RunResult, 'used' | 'ids_equal'>;

/**
 * Everything that an experiment's folder says, computed from its plan, journal, traces and token marks alone: the same folder gives the
 * same result, byte for byte, wherever it lies and whenever it is computed.
 *
 * @throws SpikedError ERR_EXPERIMENT_INVALID a file is missing, damaged, or contradicts another; names file and line
 */
export async function analyze(dir: string): Promise<Result> {
  try {
    return await analyzeFolder(dir);
  } catch (error) {
    const codes: ErrorCode[] = ['ERR_TRACE_INVALID', 'ERR_PLAN_INVALID', 'ERR_FILE_NOT_FOUND'];
    if (error instanceof SpikedError && codes.includes(error.code))
      throw new SpikedError('ERR_EXPERIMENT_INVALID', error.message, { cause: error });
    throw error;
  }
}

async function analyzeFolder(dir: string): Promise<Result> {
  const plan = await readPlan(join(dir, 'plan.json'));
  const path = join(dir, journalFile);
  const entries = await readJournal(dir);
  const attempts = attemptsOf(path, entries, orderOf(plan));
  const parts: PartReading[] = [];
  for (const entry of partEntries(path, entries, plan)) parts.push(await readPart(dir, plan, entry, entries));
  const idles = await readIdles(parts, entries, plan.trim_s * 1e9);
  const expectedTokens = plan.tokens ?? entries.findLast((one) => one.kind === 'pilot')?.tokens ?? null;
  const measured = new Map<Attempt, MeasuredRun[]>();
  for (const attempt of attempts) measured.set(attempt, await runsOf(dir, plan, attempt, { parts, idles, expectedTokens })); // prettier-ignore

  const [baseline, ...candidates] = plan.arms.map(({ name }) => name);
  const compared = candidates.map((candidate) =>
    compareCandidate({ candidate, baseline: baseline ?? '', window: plan.window }, attempts, measured),
  );
  const used = new Set(compared.flatMap((one) => one.used));
  const runs = [...measured].flatMap(([attempt, own]) =>
    own.map((run) => ({ ...run, used: used.has(attempt), ids_equal: idsEqual(run, own) })),
  );
  const verdicts = compared.map((one) => one.result);
  const blocks = attempts.map((attempt) => blockResult(attempt, used.has(attempt), compared.flatMap((one) => one.why.get(attempt) ?? []))); // prettier-ignore
  const last = parts.at(-1)?.result;
  return {
    format: 'spiked-energy-result',
    version: 1,
    name: plan.name,
    simulated: parts.some(({ result }) => result.meter.simulated),
    window: plan.window,
    ended: last?.ended ?? 'unfinished',
    verdicts,
    arms: armResults(plan, runs),
    runs,
    blocks,
    idles: idles.map(({ result }) => result),
    parts: parts.map(({ result }) => result),
    method: {
      tokens: expectedTokens,
      tokens_from: plan.tokens === undefined ? 'pilot' : 'plan',
      trim_s: plan.trim_s,
      latency_s: plan.meter.latency_s,
      blocks: plan.blocks,
      seed: plan.seed,
      idle_s: plan.idle_s,
      cool_down_s: plan.cool_down_s,
    },
    boundary: plan.boundary,
    note: plan.note,
    notes: await experimentNotes(path, parts, idles, runs),
    files: await rawFiles(dir),
  };
}

/** The starts of the program, each of which had the plan that is there now. */
function partEntries(path: string, entries: readonly JournalEntry[], plan: Plan): PartEntry[] {
  const sha256 = planSha256(plan);
  return entries.flatMap((entry, i) => {
    if (entry.kind !== 'part') return [];
    if (entry.plan_sha256 !== sha256)
      throw new SpikedError('ERR_EXPERIMENT_INVALID', `${path}: line ${i + 1}: plan_sha256: expected ${sha256}, of plan.json, found ${entry.plan_sha256}: the plan was changed after it was begun`); // prettier-ignore
    return [entry];
  });
}

async function runsOf(
  dir: string,
  plan: Plan,
  attempt: Attempt,
  { parts, idles, expectedTokens }: { parts: readonly PartReading[]; idles: readonly IdleReading[]; expectedTokens: number | null }, // prettier-ignore
): Promise<MeasuredRun[]> {
  const runs: MeasuredRun[] = [];
  for (const run of attempt.runs) {
    const part = partOf(parts, run.part);
    const idle = idleAround(idles, run);
    runs.push(await runResult(run, { dir, part, attempt: attempt.attempt, expectedTokens, idle, trimNs: plan.trim_s * 1e9 })); // prettier-ignore
  }
  return runs;
}

/** Ids of the neighbour in the pair: 1st and 2nd, 3rd and 4th. */
function idsEqual(run: MeasuredRun, block: readonly MeasuredRun[]): boolean | null {
  const other = block.find(({ slot }) => slot === (run.slot ^ 1));
  return other === undefined ? null : other.ids_sha256 === run.ids_sha256;
}

function blockResult(
  { block, attempt, part, why }: Attempt,
  used: boolean,
  reasons: readonly string[],
): BlockResult {
  return {
    block: block.block,
    attempt,
    part,
    candidate: block.candidate,
    order: block.slots,
    used,
    why: why === null ? reasons : [why],
  };
}
