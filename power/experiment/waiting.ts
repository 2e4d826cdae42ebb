import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../client/protocol/errors.js';
import { nowNs, type Context } from './context.js';

/** @throws what the signal was aborted with */
export async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (seconds <= 0) return;
  await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
  signal.throwIfAborted();
}

/**
 * Waits until the meter answers again.
 *
 * @throws SpikedError ERR_METER_LOST when it does not in time
 */
export async function untilMeterIsBack({ feed, report, reconnectMs, signal }: Context): Promise<void> {
  if (!feed.lost) return;
  report({ kind: 'phase', text: 'the meter is gone: waiting for it', seconds: null });
  if (await feed.back(reconnectMs, signal)) return;
  throw new SpikedError(
    'ERR_METER_LOST',
    `meter: expected it back within ${reconnectMs / 1000} s, found nothing; plug it in and go on with --resume`,
  );
}

const mostIdles = 4;

function lostTooOften(seconds: number): SpikedError {
  return new SpikedError(
    'ERR_METER_LOST',
    `idle: expected the meter to stay for ${seconds} s, found it lost ${mostIdles} times in turn; look at cable and hub (energy doctor), then --resume`,
  );
}

/** Records the idle machine, everything loaded. An idle in which the meter was lost is taken again. */
export async function idle(context: Context, afterBlock: number): Promise<void> {
  const { plan, feed, journal, report, signal, part } = context;
  if (plan.idle_s === 0) return;
  for (let i = 1; ; i++) {
    await untilMeterIsBack(context);
    report({ kind: 'phase', text: 'idle', seconds: plan.idle_s });
    const fromNs = nowNs();
    await pause(plan.idle_s, signal);
    const toNs = nowNs();
    if (feed.lost || feed.lostBetween(fromNs, toNs) !== null) {
      if (i < mostIdles) report({ kind: 'remark', text: 'idle: the meter was lost, taken again' });
      else throw lostTooOften(plan.idle_s);
      continue;
    }
    const times = { from_ns: String(fromNs), to_ns: String(toNs) };
    return journal.add({ kind: 'idle', part, after_block: afterBlock, ...times });
  }
}

const gateStepS = 2;

/**
 * Lets the machine cool to the temperature at which the first run began, as long as the plan allows; returns what to warn of.
 *
 * @param reference  of the first run, °C; null before it and on machines without a reading
 * @returns the temperature now, °C, and the warning
 */
export async function thermalGate(
  { plan, subject, report, signal }: Context,
  reference: number | null,
): Promise<{ celsius: number | null; warning: string | null }> {
  const { within_celsius: within, max_wait_s: most } = plan.thermal_gate;
  const deadline = nowNs() + BigInt(Math.round(most * 1e9));
  for (let told = false; ; told = true) {
    const { celsius } = await subject.machine();
    if (celsius === null || reference === null) return { celsius, warning: null };
    const above = celsius - reference;
    const text = (how: string) =>
      `began at ${celsius.toFixed(1)} °C, ${Math.abs(above).toFixed(1)} ${how} than the first run`;
    // Waiting makes nothing warmer.
    if (above < -within) return { celsius, warning: text('colder') };
    if (above <= within) return { celsius, warning: null };
    if (nowNs() >= deadline) return { celsius, warning: `${text('warmer')}, after waiting ${most} s` };
    if (!told)
      report({ kind: 'phase', text: `cooling to ${(reference + within).toFixed(1)} °C`, seconds: null });
    await pause(Math.min(gateStepS, most), signal);
  }
}
