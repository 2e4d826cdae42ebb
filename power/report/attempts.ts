import { SpikedError } from '../../client/protocol/errors.js';
import type { Block } from '../experiment/order.js';
import type { JournalEntry, RunEntry } from '../experiment/record.js';

/** A block as it was tried once. What counts of a block is its last attempt, when that was done. */
export interface Attempt {
  readonly block: Block;
  /** From 1. */
  readonly attempt: number;
  readonly part: number;
  readonly runs: readonly RunEntry[];
  readonly done: boolean;
  /** Why it is not done; null for a done one. */
  readonly why: string | null;
}

/**
 * Every attempt of every block, in the order of time; one that was broken off without a word (the program was killed) too.
 *
 * @param path    of the journal, for messages
 * @param entries all of its lines, in order
 * @param order   the blocks as the plan has them
 * @throws SpikedError ERR_EXPERIMENT_INVALID with the line: an entry that does not follow from those before it, or from the plan
 */
export function attemptsOf(
  path: string,
  entries: readonly JournalEntry[],
  order: readonly Block[],
): Attempt[] {
  const attempts: Attempt[] = [];
  let open: RunEntry[] = [];
  let part = 0;
  const close = (block: number, done: boolean, why: string | null, fault: (text: string) => SpikedError) => {
    const planned = order[block - 1];
    if (planned === undefined)
      throw fault(`block: expected 1 to ${order.length}, as the plan has, found ${block}`);
    const earlier = attempts.filter((one) => one.block.block === block);
    if (earlier.some((one) => one.done)) throw fault(`block ${block}: expected it once, found it done again`);
    if (done && open.length !== planned.slots.length)
      throw fault(`block ${block}: expected ${planned.slots.length} runs before it, found ${open.length}`);
    attempts.push({ block: planned, attempt: earlier.length + 1, part, runs: open, done, why });
    open = [];
  };
  const leave = (why: string, fault: (text: string) => SpikedError) => {
    if (open[0] !== undefined) close(open[0].block, false, why, fault);
  };
  entries.forEach((entry, i) => {
    const fault = (text: string) => new SpikedError('ERR_EXPERIMENT_INVALID', `${path}: line ${i + 1}: ${text}`); // prettier-ignore
    if (entry.kind === 'part') {
      leave('the program ended in the middle of it', fault);
      if (entry.part !== part + 1) throw fault(`part: expected ${part + 1}, found ${entry.part}`);
      part = entry.part;
      return;
    }
    if (entry.part !== part) throw fault(`part: expected ${part}, found ${entry.part}`);
    if (entry.kind === 'run') open.push(expectedRun(entry, open, order, fault));
    else if (entry.kind === 'block') {
      const other = open.find(({ block }) => block !== entry.block);
      if (other !== undefined)
        throw fault(`block: expected ${other.block}, of the runs before it, found ${entry.block}`);
      close(entry.block, entry.done, entry.done ? null : (entry.why ?? 'broken off'), fault);
    } else if (entry.kind === 'end') leave(entry.why ?? `the experiment was ${entry.how}`, fault);
    else if (entry.kind === 'idle' && BigInt(entry.to_ns) <= BigInt(entry.from_ns))
      throw fault(`to_ns: expected a time after from_ns, ${entry.from_ns}, found ${entry.to_ns}`);
  });
  leave('not finished', (text) => new SpikedError('ERR_EXPERIMENT_INVALID', `${path}: ${text}`));
  return attempts;
}

/** The run itself, once it is what the plan has at its place. */
function expectedRun(
  run: RunEntry,
  before: readonly RunEntry[],
  order: readonly Block[],
  fault: (text: string) => SpikedError,
): RunEntry {
  const [first] = before;
  if (first !== undefined && first.block !== run.block)
    throw fault(`block: expected ${first.block}, which is not done, found ${run.block}`);
  if (run.slot !== before.length) throw fault(`slot: expected ${before.length}, found ${run.slot}`);
  const arm = order[run.block - 1]?.slots[run.slot];
  if (arm === undefined)
    throw fault(`block, slot: expected a place of the plan, found ${run.block}, ${run.slot}`);
  if (arm !== run.arm)
    throw fault(`arm: expected "${arm}", which the plan has in block ${run.block}, slot ${run.slot}, found "${run.arm}"`); // prettier-ignore
  if (BigInt(run.answered_ns) <= BigInt(run.sent_ns))
    throw fault(`answered_ns: expected a time after sent_ns, ${run.sent_ns}, found ${run.answered_ns}`);
  return run;
}
