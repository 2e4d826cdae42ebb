import { SpikedError } from '../../client/protocol/errors.js';
import type { ReadingFault, ReadingFaults } from './device.js';
import { seededRandom, type Random } from './random.js';

/** What may go wrong, with the number that a fault of the kind may take beside the times at which it acts. */
export const faultKinds = {
  late: { of: 'message', number: 'ms', usual: 800, once: true, says: 'an answer comes MS later' },
  torn: { of: 'message', number: 'bytes', usual: 0, once: true, says: 'only the first BYTES come (half)' },
  flip: { of: 'message', number: 'bits', usual: 1, once: true, says: 'BITS of a message are turned' },
  drop: { of: 'message', number: 'bytes', usual: 1, once: true, says: 'BYTES inside a message are lost' },
  noise: { of: 'message', number: 'bytes', usual: 12, once: true, says: 'BYTES of anything come before' },
  silent: { of: 'message', number: '', usual: 0, once: false, says: 'nothing is said' },
  frozen: { of: 'reading', number: '', usual: 0, once: false, says: 'the values stand still' },
  saturated: { of: 'reading', number: '', usual: 0, once: false, says: 'over the range' },
  'no-value': { of: 'reading', number: '', usual: 0, once: false, says: 'the meter has no number' },
  negative: { of: 'reading', number: '', usual: 0, once: false, says: 'the power is below zero' },
  'counter-reset': { of: 'reading', number: '', usual: 0, once: true, says: 'its energy begins at 0 again' },
  'hang-up': {
    of: 'line',
    number: 'back_s',
    usual: -1,
    once: true,
    says: 'unplugged; again there BACK_S later',
  },
} as const;
export type FaultKind = keyof typeof faultKinds;

/** One fault and when it acts: all of the conditions given must hold. */
export interface Fault {
  readonly kind: FaultKind;
  /** The kind's own number. */
  readonly number: number;
  /** Messages (of a reading's fault: values) before the first that it may touch. */
  readonly after: number;
  /** Most that it touches. */
  readonly count: number;
  /** Every so many of them. */
  readonly every: number;
  /** Each of them with this probability. */
  readonly rate: number;
  /** Seconds after the start in which it may act. */
  readonly fromS: number;
  readonly forS: number;
}

const times = ['after', 'count', 'every', 'rate', 'at_s', 'for_s'] as const;

/**
 * A fault of the form `KIND[:name=number,…]`: `late:after=3,ms=900`, `flip:rate=0.05`, `silent:at_s=2,for_s=1`.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT naming what is not known
 */
export function parseFault(text: string): Fault {
  const [kind = '', rest = ''] = text.split(/:(.*)/s, 2);
  if (!isFaultKind(kind))
    throw invalid(`fault ${text}: expected one of ${Object.keys(faultKinds).join(', ')}, found "${kind}"`);
  const traits = faultKinds[kind];
  const names: string[] = [...times, ...(traits.number === '' ? [] : [traits.number])];
  const given = new Map<string, number>();
  for (const part of rest === '' ? [] : rest.split(',')) {
    const [name = '', value = ''] = part.split(/=(.*)/s, 2);
    const number = value.trim() === '' ? NaN : Number(value);
    if (!names.includes(name) || !(number >= 0) || !Number.isFinite(number))
      throw invalid(`fault ${text}: expected ${names.join(', ')} as name=number, found "${part}"`);
    given.set(name, number);
  }
  const rate = given.get('rate') ?? 1;
  if (rate > 1) throw invalid(`fault ${text}: expected a rate from 0 to 1, found ${String(rate)}`);
  const timed = ['count', 'every', 'rate', 'for_s'].some((name) => given.has(name));
  return {
    kind,
    number: given.get(traits.number) ?? traits.usual,
    after: given.get('after') ?? 0,
    count: given.get('count') ?? (traits.once && !timed ? 1 : Infinity),
    every: Math.max(1, given.get('every') ?? 1),
    rate,
    fromS: given.get('at_s') ?? 0,
    forS: given.get('for_s') ?? Infinity,
  };
}

function isFaultKind(kind: string): kind is FaultKind {
  return Object.hasOwn(faultKinds, kind);
}

function invalid(message: string): SpikedError {
  return new SpikedError('ERR_INVALID_ARGUMENT', message);
}

/** Asks a list of faults, for one message or value after the other, which of them act. */
export class FaultClock {
  private readonly states: { fault: Fault; done: number; seen: number }[];
  private readonly random: Random;

  constructor(faults: readonly Fault[], of: 'message' | 'reading' | 'line', seed: number) {
    this.states = faults
      .filter(({ kind }) => faultKinds[kind].of === of)
      .map((fault) => ({ fault, done: 0, seen: 0 }));
    this.random = seededRandom(seed);
  }

  /**
   * @param number   which message or value, from 1
   * @param seconds  since the start
   */
  active(number: number, seconds: number): Fault[] {
    return this.states
      .filter((state) => {
        const { fault } = state;
        if (number <= fault.after || state.done >= fault.count) return false;
        if (seconds < fault.fromS || seconds >= fault.fromS + fault.forS) return false;
        const turn = state.seen++ % fault.every === 0;
        if (!turn || (fault.rate < 1 && this.random() >= fault.rate)) return false;
        state.done += 1;
        return true;
      })
      .map(({ fault }) => fault);
  }
}

/** The faults of values, as the device asks for them. */
export function readingFaults(faults: readonly Fault[], seed: number): ReadingFaults {
  const clock = new FaultClock(faults, 'reading', seed);
  return (update, seconds) => new Set(clock.active(update, seconds).map(({ kind }) => kind as ReadingFault));
}

/** What is left of a message. */
export function damage(message: Uint8Array, { kind, number }: Fault, random: Random): Uint8Array {
  if (kind === 'silent') return new Uint8Array(0);
  if (kind === 'torn') return message.slice(0, number > 0 ? number : Math.ceil(message.length / 2));
  const out = Array.from(message);
  if (kind === 'noise') out.unshift(...Array.from({ length: number }, () => Math.floor(random() * 256)));
  for (let i = 0; i < number; ++i) {
    const place = Math.floor(random() * out.length);
    if (kind === 'drop') out.splice(place, 1);
    else if (kind === 'flip') out[place] = (out[place] ?? 0) ^ (1 << Math.floor(random() * 8));
  }
  return Uint8Array.from(out);
}
