import type { MeterTraits, Sample } from '../meters/meter.js';
import { LogHistogram } from './log-histogram.js';

/** Fewer readings say nothing. */
const fewest = 5;
/** Accuracy of three values together. */
const most = 1.05;
/** Beyond what accuracy could explain: another unit or scale. */
const impossible = 1.5;
/** No supply under load has a power factor like this. */
const unlikely = 0.2;
const absurd = 0.02;

export interface UnitCheck {
  /** `unknown`: no volts or amps, or too few of them. */
  readonly verdict: 'ok' | 'unlikely' | 'mismatch' | 'unknown';
  /** Median of P / (V I): the power factor; of direct current 1. */
  readonly ratio: number | null;
  readonly readings: number;
  /** One sentence. */
  readonly text: string;
}

/**
 * Holds watts to volts times amps, which they cannot exceed: catches a column in another unit (mW for W) and a register profile whose
 * scale is ten times off. In memory that does not grow.
 */
export class UnitCheckMeter {
  readonly #ratios = new LogHistogram();

  constructor(private readonly current: MeterTraits['current']) {}

  add({ watts, volts, amps }: Sample): void {
    if (watts === null || volts === null || amps === null) return;
    const product = Math.abs(volts * amps);
    // At rest all three are mostly rounding.
    if (product === 0 || watts === 0) return;
    this.#ratios.add(Math.abs(watts) / product);
  }

  result(): UnitCheck {
    const readings = this.#ratios.count;
    const ratio = this.#ratios.quantile(0.5);
    if (ratio === null || readings < fewest)
      return {
        verdict: 'unknown',
        ratio,
        readings,
        text: `${readings} readings have watts, volts and amps: the units cannot be checked.`,
      };
    return { ratio, readings, ...this.#judge(ratio) };
  }

  #judge(ratio: number): Pick<UnitCheck, 'verdict' | 'text'> {
    const direct = this.current === 'direct';
    const times = ratio.toPrecision(3);
    if (ratio > impossible)
      return {
        verdict: 'mismatch',
        text: `Watts are ${times} times volts times amps, and cannot be more than they: ${culprit(ratio / most)}.`,
      };
    if (ratio < (direct ? 1 / impossible : absurd))
      return {
        verdict: 'mismatch',
        text: `Watts are ${times} times volts times amps, ${direct ? 'of direct current they are equal' : 'no load has such a power factor'}: ${culprit(direct ? ratio : ratio / unlikely)}.`,
      };
    if (ratio > most)
      return {
        verdict: 'unlikely',
        text: `Watts are ${times} times volts times amps, more than the meter's accuracy explains.`,
      };
    if (direct) return { verdict: 'ok', text: `Watts are volts times amps (${times}).` };
    if (ratio < unlikely)
      return {
        verdict: 'unlikely',
        text: `The power factor, ${times}, is lower than a supply under load has: a small load that the meter hardly sees, or a profile of another meter.`,
      };
    return { verdict: 'ok', text: `Watts fit volts times amps: power factor ${times}.` };
  }
}

/** The power of ten that is off, and what writes such values. */
function culprit(ratio: number): string {
  const power = Math.max(1, Math.round(Math.abs(Math.log10(ratio))));
  const factor = 10 ** power;
  const high = ratio > 1;
  if (power === 3)
    return high
      ? 'a factor of 1000, as of milliwatts read as watts'
      : 'a factor of 1000, as of kilowatts read as watts, or milliamperes as amperes';
  return `a factor of about ${factor}, as of a profile or a column of another scale`;
}
