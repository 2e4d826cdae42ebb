import type { Profile, RegisterType, RegisterValue } from './profile.js';

/** What a block of registers says; null where it is absent or no finite number. */
export interface Reading {
  readonly watts: number | null;
  readonly volts: number | null;
  readonly amps: number | null;
  readonly joules: number | null;
  readonly hertz: number | null;
  readonly powerFactor: number | null;
  /** The meter says that it is over its limits. */
  readonly alarm: boolean;
  /** A value came that is NaN or infinite. */
  readonly noNumber: boolean;
}

function read(view: DataView, type: RegisterType): number {
  switch (type) {
    case 'u16':
      return view.getUint16(0);
    case 'i16':
      return view.getInt16(0);
    case 'u32':
      return view.getUint32(0);
    case 'i32':
      return view.getInt32(0);
    case 'f32':
      return view.getFloat32(0);
  }
}

/** A value's bytes brought into the order of the wire's standard, the highest first. */
function valueAt(payload: Uint8Array, at: number, type: RegisterType, { words, bytes }: Profile): number {
  const length = type === 'u16' || type === 'i16' ? 2 : 4;
  // A copy: a Buffer's slice() would be the same memory.
  const ordered = Uint8Array.from(payload.subarray(at, at + length));
  if (words === 'low-first' && length === 4) ordered.set([...ordered.subarray(2), ...ordered.subarray(0, 2)]);
  if (bytes === 'low-first') for (let i = 0; i < length; i += 2) ordered.subarray(i, i + 2).reverse();
  return read(new DataView(ordered.buffer), type);
}

/**
 * The values in a block's bytes; those that lie behind the end of a short block are null.
 *
 * @param payload  registers from the profile's `start`, two bytes each, as they came
 */
export function decode(profile: Profile, payload: Uint8Array): Reading {
  let noNumber = false;
  const get = (entry: RegisterValue | undefined): number | null => {
    if (entry === undefined) return null;
    const at = 2 * (entry.register - profile.start);
    if (at + (entry.type.endsWith('16') ? 2 : 4) > payload.length) return null;
    const found = valueAt(payload, at, entry.type, profile);
    if (Number.isFinite(found)) return rounded(found * entry.scale);
    noNumber = true;
    return null;
  };
  const { watts, volts, amps, joules, hertz, power_factor } = profile.values;
  const alarm = profile.alarms.some(({ register, equals }) => {
    const at = 2 * (register - profile.start);
    return at + 2 <= payload.length && valueAt(payload, at, 'u16', profile) === equals;
  });
  return {
    watts: get(watts),
    volts: get(volts),
    amps: get(amps),
    joules: get(joules),
    hertz: get(hertz),
    powerFactor: get(power_factor),
    alarm,
    noNumber,
  };
}

/** 103 tenths are 10.3, not 10.3 and a bit: the product's last bits say nothing. */
const rounded = (value: number): number => Number(value.toPrecision(12));
