import type { Plan } from './plan.js';
import type { Pace } from './preview.js';
import type { Subject } from './subject.js';

const firstTokens = 8;
/** Seconds of decode that say enough of an arm's speed. */
const enoughSeconds = 1;

/**
 * How fast each arm is, from short runs of it, each longer than the one before until it takes a second.
 *
 * @throws SpikedError why an arm cannot run
 */
export async function pilot(
  plan: Plan,
  subject: Subject,
  signal: AbortSignal,
): Promise<Record<string, Pace>> {
  const pace: Record<string, Pace> = {};
  for (const { name } of plan.arms) pace[name] = await paceOf(plan, name, subject, signal);
  return pace;
}

async function paceOf(plan: Plan, arm: string, subject: Subject, signal: AbortSignal): Promise<Pace> {
  const enough = Math.min(enoughSeconds, (plan.min_seconds ?? Infinity) / 4);
  let tokens = Math.min(plan.tokens ?? Infinity, firstTokens);
  for (;;) {
    const run = await subject.generate(arm, tokens, signal);
    signal.throwIfAborted();
    if (run.failure !== null) throw run.failure;
    const [first, last] = [run.marksNs[0] ?? run.sentNs, run.marksNs.at(-1) ?? run.answeredNs];
    const seconds = Number(last - first) / 1e9;
    if (seconds >= enough || tokens === plan.tokens)
      return {
        tokensPerSecond: (run.marksNs.length - 1) / Math.max(seconds, 1e-6),
        prefillSeconds: Number(first - run.sentNs) / 1e9,
      };
    const growth = seconds > 0 ? (1.2 * enough) / seconds : 16;
    tokens = Math.min(plan.tokens ?? Infinity, Math.ceil(tokens * Math.min(16, Math.max(2, growth))));
  }
}

/** Tokens per second from the first to the last mark; null for fewer than two, and when they span less than `leastSeconds`. */
export function rateOf(marksNs: readonly bigint[], leastSeconds = 0): number | null {
  const [first, last] = [marksNs[0], marksNs.at(-1)];
  if (first === undefined || last === undefined || last <= first) return null;
  const seconds = Number(last - first) / 1e9;
  return seconds < leastSeconds ? null : (marksNs.length - 1) / seconds;
}
