import { join } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import type { RunEntry } from '../experiment/record.js';
import { collectTokens } from '../trace/tokens.js';
import type { IdlePower, Reason, WindowSpec } from '../window/figures.js';
import { voidedBy } from '../window/run-figures.js';
import type { PartReading } from './part.js';
import type { RunResult, Window } from './result.js';
import { figuresFrom } from './trace-figures.js';

export interface RunContext {
  readonly dir: string;
  readonly part: PartReading;
  readonly attempt: number;
  /** Tokens that every run should have; null when nothing says. */
  readonly expectedTokens: number | null;
  readonly idle: IdlePower | null;
  readonly trimNs: number;
}

/**
 * Both windows of one run, from its part's trace and its token marks.
 *
 * @throws SpikedError ERR_EXPERIMENT_INVALID the marks are not what the journal says; ERR_TRACE_INVALID a damaged file
 */
export async function runResult(
  run: RunEntry,
  context: RunContext,
): Promise<Omit<RunResult, 'used' | 'ids_equal'>> {
  const { dir, part, attempt, expectedTokens, idle, trimNs } = context;
  const marks = await marksOf(dir, run);
  const reasons = [...run.reasons, ...unequal(run, expectedTokens)];
  const [sent, answered] = [BigInt(run.sent_ns), BigInt(run.answered_ns)];
  const window = async (fromNs: bigint, toNs: bigint): Promise<Window> => {
    const spec: Omit<WindowSpec, 'checksumErrors'> = {
      traits: part.traits,
      updatePeriodNs: part.updatePeriodNs,
      latencyNs: part.latencyNs,
      fromNs,
      toNs,
      trimNs,
      tokenNs: marks,
      idle,
    };
    const figures = await figuresFrom(part.trace, spec);
    const added = reasons.filter(({ reason }) => !figures.reasons.some((own) => own.reason === reason));
    return { from_ns: String(fromNs), to_ns: String(toNs), figures: voidedBy(figures, added) };
  };
  return {
    part: run.part,
    block: run.block,
    attempt,
    slot: run.slot,
    arm: run.arm,
    tokens: run.tokens,
    requests: run.requests,
    ids_sha256: run.ids_sha256,
    marks: run.marks,
    idle: idle && { watts: idle.watts, u_watts: idle.uWatts, drifted: idle.drifted },
    from_ns: run.sent_ns,
    to_ns: run.answered_ns,
    // Without two tokens there is no decode window: an empty one, whose figures say so.
    decode: await window(marks[0] ?? sent, marks.at(-1) ?? sent),
    full: await window(sent, answered),
    before: run.before,
    after: run.after,
    warnings: run.warnings ?? [],
  };
}

/** Completion times of the run's tokens, held to what the journal says of it. */
async function marksOf(dir: string, run: RunEntry): Promise<bigint[]> {
  const path = join(dir, run.marks);
  const marks = await collectTokens(path).catch((error: unknown) => {
    throw error instanceof SpikedError ? new SpikedError('ERR_EXPERIMENT_INVALID', error.message) : error;
  });
  const fault = (expected: string, found: string | number | bigint) =>
    new SpikedError('ERR_EXPERIMENT_INVALID', `${path}: expected ${expected}, as journal.jsonl says of block ${run.block}, slot ${run.slot}, found ${found}`); // prettier-ignore
  if (marks.length !== run.tokens) throw fault(`${run.tokens} tokens`, marks.length);
  const [first, last] = [marks[0], marks.at(-1)];
  if (first !== undefined && first < BigInt(run.sent_ns))
    throw fault(`no token before ${run.sent_ns}`, first);
  if (last !== undefined && last > BigInt(run.answered_ns))
    throw fault(`no token after ${run.answered_ns}`, last);
  return marks;
}

/** Energy per token of unequal work is not compared. */
function unequal(run: RunEntry, expected: number | null): Reason[] {
  if (expected === null || run.tokens === expected) return [];
  return [{ reason: 'unequal-tokens', text: `${run.tokens} tokens where every run should have ${expected}: runs of unequal length are not compared; make the model go on (EOS is ignored) or ask for fewer tokens` }]; // prettier-ignore
}
