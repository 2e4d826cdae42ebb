import { SpikedError, type ErrorCode } from '../../client/protocol/errors.js';
import type { MeterTraits } from '../meters/meter.js';
import { plural } from '../plural.js';
import { doBlock, type Broken, type Known } from './block.js';
import { nowNs, type Context } from './context.js';
import { meanWatts } from './meter-feed.js';
import type { Past } from './folder.js';
import { pilot } from './pilot.js';
import type { Plan } from './plan.js';
import { blocksSeconds, previewOf, type Pace, type Preview } from './preview.js';
import { idle, pause, untilMeterIsBack } from './waiting.js';
import { warmUp } from './warm-up.js';

/**
 * What is left of a plan, in order: pilot, idle, warm-up, blocks with an idle after every so many, idle.
 *
 * @throws as `runExperiment`
 */
export async function conduct(context: Context, past: Past, traits: MeterTraits): Promise<void> {
  const { plan, report, signal } = context;
  const first = await look(context, past, traits);
  report({ kind: 'preview', preview: first, settled: false });
  refuseShort(plan, first);
  await pause(plan.cool_down_s, signal);
  await idle(context, past.done.size);
  const { fastest, watts } = await warmUp(context, first.tokens);
  let preview =
    past.pilot === null
      ? await fixTokens(context, first, fastest, watts, traits)
      : previewOf(plan, traits, first.pace, watts, first.tokens);
  report({ kind: 'preview', preview, settled: true });
  const { blocks } = preview;
  const left = blocks.filter(({ block }) => !past.done.has(block));
  const known: Known = { celsius: null, ids: new Map(past.ids) };
  let redos = plan.redo_blocks;
  for (const [i, block] of left.entries()) {
    const leftSeconds = (slot: number) =>
      blocksSeconds(plan, preview.runSeconds, [
        { ...block, slots: block.slots.slice(slot) },
        ...left.slice(i + 1),
      ]) + plan.idle_s;
    let attempt = past.attempts.get(block.block) ?? 0;
    for (;;) {
      attempt++;
      const told = { blocks: blocks.length, leftSeconds };
      const broken = await doBlock(context, block, attempt, preview.tokens, known, told);
      if (broken === null) break;
      if (redos === 0) throw tooOften(block.block, plan.redo_blocks, broken);
      redos--;
      report({
        kind: 'remark',
        text: `block ${block.block} is done again (${redos} more may be): ${broken.why}`,
      });
      await recover(context, broken, preview.tokens);
      // Blocks that count have one count of tokens: it can only be raised before the first of them.
      if (past.done.size + i > 0 || !wasTooShort(plan, broken)) continue;
      const { entry, tokensPerSecond } = broken.run;
      preview = await fixTokens(
        context,
        preview,
        new Map([[entry.arm, tokensPerSecond ?? 0]]),
        watts,
        traits,
      );
      report({ kind: 'preview', preview, settled: true });
      known.ids.clear();
    }
    const last = i === left.length - 1;
    if (last || (i + 1) % plan.idle_every_blocks === 0) {
      await pause(plan.cool_down_s, signal);
      await idle(context, block.block);
    }
  }
}

/** What the pilot says, or what an earlier part has fixed: all parts have the same tokens. */
async function look(context: Context, past: Past, traits: MeterTraits): Promise<Preview> {
  const { plan, subject, feed, report, signal } = context;
  if (past.pilot !== null) {
    const rates = Object.entries(past.pilot.tokensPerSecond);
    const pace = Object.fromEntries(
      rates.map(([arm, tokensPerSecond]) => [arm, { tokensPerSecond, prefillSeconds: 0 }]),
    );
    return previewOf(plan, traits, pace, null, past.pilot.tokens);
  }
  report({ kind: 'phase', text: 'pilot', seconds: null });
  const fromNs = nowNs();
  const pace: Record<string, Pace> = await pilot(plan, subject, signal);
  const watts = meanWatts(feed.between(fromNs, nowNs()));
  return previewOf(plan, traits, pace, watts);
}

/** Whether an arm was so much faster than pilot and warm-up knew that the count of tokens, which `min_seconds` asks for, does not last. */
const wasTooShort = (plan: Plan, { run: { entry } }: Broken): boolean =>
  plan.min_seconds !== undefined && entry.reasons.some(({ reason }) => reason === 'window-too-short');

/** The warm-up knows the arms' speed better than the pilot, whose first runs were cold: what was fastest decides how many tokens a run has. */
async function fixTokens(
  context: Context,
  { pace: piloted, detectable }: Preview,
  fastest: ReadonlyMap<string, number>,
  watts: number | null,
  traits: MeterTraits,
): Promise<Preview> {
  const { plan, journal, part } = context;
  const pace = Object.fromEntries(
    Object.entries(piloted).map(([arm, { tokensPerSecond, prefillSeconds }]) => [
      arm,
      { tokensPerSecond: Math.max(tokensPerSecond, fastest.get(arm) ?? 0), prefillSeconds },
    ]),
  );
  const piloting = detectable.measured ? detectable.watts : null;
  const preview = previewOf(plan, traits, pace, watts ?? piloting);
  refuseShort(plan, preview);
  await journal.add({
    kind: 'pilot',
    part,
    tokens: preview.tokens,
    tokens_per_second: Object.fromEntries(
      Object.entries(pace).map(([arm, { tokensPerSecond }]) => [arm, tokensPerSecond]),
    ),
  });
  return preview;
}

function refuseShort({ name }: Plan, { tooShort }: Preview): void {
  if (tooShort !== null) throw new SpikedError('ERR_PLAN_INVALID', `${name}: ${tooShort}`);
}

/** Brings back what a broken run needs. */
async function recover(context: Context, { run }: Broken, tokens: number): Promise<void> {
  const { arm, reasons } = run.entry;
  await untilMeterIsBack(context);
  if (!reasons.some(({ reason }) => reason === 'generation-failed')) return;
  await context.subject.revive(arm);
  context.report({ kind: 'remark', text: `the daemon of "${arm}" was started again` });
  await warmUp(context, tokens);
}

function tooOften(block: number, allowed: number, { why, run }: Broken): SpikedError {
  const lost = run.entry.reasons.some(({ reason }) => reason === 'meter-lost');
  const code: ErrorCode = lost ? 'ERR_METER_LOST' : 'ERR_EXPERIMENT_INVALID';
  return new SpikedError(
    code,
    `block ${block}: expected four whole runs, found after ${plural(allowed, 'block')} done again (redo_blocks): ${why}; whole blocks are kept, --resume goes on`,
  );
}
