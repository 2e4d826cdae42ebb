import type * as msgpackr from 'msgpackr';
import * as pure from 'msgpackr/pack';

// The '/pack' entry is msgpackr without its optional native accelerator (which has an open bug with trailing bytes); its own
// types do not resolve under NodeNext, hence those of the main entry.
const { Packr } = pure as unknown as typeof msgpackr;

/** Packs and unpacks standard MessagePack. */
export const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  mapsAsObjects: true,
  // A number where it is exact, else a bigint; missing in msgpackr's types.
  int64AsType: 'auto' as 'bigint',
});

/** Plain MessagePack bytes of a message: standard types only, undefined keys left out, integers never as floats. */
export function encodeMessage(message: readonly unknown[]): Buffer {
  return packr.pack(plain(message, plainNumber));
}

/** The same of what the daemon sends. @throws RangeError for NaN and infinities, which must never leave it */
export function encodeFinite(message: readonly unknown[]): Buffer {
  return packr.pack(plain(message, finiteNumber));
}

type NumberForm = (value: number) => number | bigint;

function plain(value: unknown, form: NumberForm): unknown {
  if (typeof value === 'number') return form(value);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item) => plain(item, form));
  if (ArrayBuffer.isView(value)) return Array.from(value as Int32Array | Float32Array, form);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) if (item !== undefined) copy[key] = plain(item, form);
  return copy;
}

/** msgpackr writes integers beyond 32 bits as float64 unless they are bigints. */
function plainNumber(value: number): number | bigint {
  const wide = Number.isSafeInteger(value) && (value > 0xffff_ffff || value < -0x8000_0000);
  return wide ? BigInt(value) : value;
}

function finiteNumber(value: number): number | bigint {
  if (!Number.isFinite(value)) throw new RangeError(`a message: expected finite numbers, found ${value}`);
  return plainNumber(value);
}
