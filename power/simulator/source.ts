import { SpikedError } from '../../client/protocol/errors.js';

/** What the simulated machine draws. */
export interface PowerSource {
  /** Energy from the start to `seconds` after it, J; called with times that never fall. */
  joulesUntil(seconds: number): number;
}

export function constantPower(watts: number): PowerSource {
  return { joulesUntil: (seconds) => watts * seconds };
}

/** Power from `t_s` on, until the next step. */
export interface Step {
  readonly t_s: number;
  readonly watts: number;
}

/**
 * Power in steps. Before the first step its watts hold; after the last its watts hold, or with `repeat` all begins again at the time of the
 * last, whose watts then do not count.
 *
 * @param steps  ascending in time, from 0 on; at least one, with `repeat` two
 * @throws SpikedError ERR_TRACE_INVALID when they are not
 */
export function steppedPower(steps: readonly Step[], repeat: boolean): PowerSource {
  const first = steps[0];
  const last = steps.at(-1);
  if (first === undefined || last === undefined)
    throw new SpikedError('ERR_TRACE_INVALID', 'power steps: expected at least one, found none');
  if (repeat && last.t_s <= 0)
    throw new SpikedError(
      'ERR_TRACE_INVALID',
      `power steps: expected a last step after 0 s, which ends a repetition, found ${String(last.t_s)} s`,
    );
  // joules[i]: from 0 to the time of step i.
  const joules: number[] = [];
  let sum = 0;
  let before: Step = { t_s: 0, watts: first.watts };
  for (const step of steps) {
    sum += before.watts * (step.t_s - before.t_s);
    joules.push(sum);
    before = step;
  }
  const once = (seconds: number): number => {
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((steps[middle]?.t_s ?? Infinity) <= seconds) low = middle + 1;
      else high = middle;
    }
    const step = steps[low - 1];
    if (step === undefined) return first.watts * seconds;
    return (joules[low - 1] ?? 0) + step.watts * (seconds - step.t_s);
  };
  return {
    joulesUntil: (seconds) => {
      if (!repeat) return once(seconds);
      const rounds = Math.floor(seconds / last.t_s);
      return rounds * sum + once(seconds - rounds * last.t_s);
    },
  };
}

/**
 * Steps of a CSV text, `t_s,watts` a line, a header line or none.
 *
 * @throws SpikedError ERR_TRACE_INVALID naming the line
 */
export function parseSteps(text: string, name: string): Step[] {
  const steps: Step[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const row = line.trim();
    if (row === '' || row.startsWith('#') || (steps.length === 0 && /^t_s\s*,\s*watts$/.test(row))) continue;
    const cells = row.split(',').map((cell) => (cell.trim() === '' ? NaN : Number(cell)));
    const [t_s = NaN, watts = NaN] = cells;
    const least = steps.at(-1)?.t_s ?? -Number.MIN_VALUE;
    if (cells.length !== 2 || !Number.isFinite(watts) || !(t_s > least) || !Number.isFinite(t_s))
      throw new SpikedError(
        'ERR_TRACE_INVALID',
        `${name}:${String(i + 1)}: expected t_s,watts with a time after the one before, found ${row.slice(0, 60)}`,
      );
    steps.push({ t_s, watts });
  }
  if (steps.length === 0)
    throw new SpikedError('ERR_TRACE_INVALID', `${name}: expected lines of t_s,watts, found none`);
  return steps;
}
