import { SpikedError } from '../../client/protocol/errors.js';
import type { Context } from './context.js';
import type { Block } from './order.js';
import { runOnce, type Ran } from './run.js';
import { pause, thermalGate, untilMeterIsBack } from './waiting.js';

/** What runs of earlier blocks have fixed. */
export interface Known {
  /** Temperature at which the first run of this part began. */
  celsius: number | null;
  /** By arm: SHA-256 of the ids that it gives. */
  readonly ids: Map<string, string>;
}

/** Why a block was broken off, and its last run. */
export interface Broken {
  readonly why: string;
  readonly run: Ran;
}

/**
 * Does a block once. Its first run that the world broke ends it: the whole block then counts for nothing, by a rule that was there
 * before the run.
 *
 * @returns why it was broken off; null when it is done
 */
export async function doBlock(
  context: Context,
  { block, slots }: Block,
  attempt: number,
  tokens: number,
  known: Known,
  told: { readonly blocks: number; readonly leftSeconds: (slot: number) => number },
): Promise<Broken | null> {
  const { plan, journal, report, signal, part } = context;
  const add = async (done: boolean, why?: string) => {
    await journal.add({ kind: 'block', part, block, done, ...(why === undefined ? {} : { why }) });
    report({ kind: 'block-done', block, done, ...(why === undefined ? {} : { why }) });
  };
  let begun = false;
  try {
    for (const [slot, arm] of slots.entries()) {
      report({ kind: 'phase', text: 'cool-down', seconds: plan.cool_down_s });
      await pause(plan.cool_down_s, signal);
      await untilMeterIsBack(context);
      const { celsius, warning } = await thermalGate(context, known.celsius);
      known.celsius ??= celsius;
      if (warning !== null) report({ kind: 'remark', text: `block ${block}, run ${slot + 1}: ${warning}` });
      report({
        kind: 'run',
        block,
        blocks: told.blocks,
        slot,
        arm,
        tokens,
        leftSeconds: told.leftSeconds(slot),
      });
      begun = true;
      const before = known.ids.get(arm);
      const ids = new Set(before === undefined ? [] : [before]);
      const run = await runOnce(
        context,
        { block, slot, arm, attempt },
        tokens,
        ids,
        warning === null ? [] : [warning],
      );
      const [reason] = run.entry.reasons;
      if (reason !== undefined) {
        const why = `run ${slot + 1} (${arm}): ${reason.reason}: ${reason.text}`;
        await add(false, why);
        return { why, run };
      }
      known.ids.set(arm, run.entry.ids_sha256);
    }
  } catch (error) {
    // A half block counts for nothing: better said than left open, where the journal can still be written.
    if (begun) await add(false, wordFor(error)).catch(() => undefined);
    throw error;
  }
  await add(true);
  return null;
}

function wordFor(error: unknown): string {
  if (!(error instanceof SpikedError)) return String(error);
  return error.code === 'ERR_CANCELLED' ? 'aborted' : `${error.code}: ${error.message}`;
}
