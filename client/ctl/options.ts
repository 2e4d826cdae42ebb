import { InvalidArgumentError } from 'commander';

/** Parser for commander: an integer from `low` to `high`. */
export function integer(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value) || value < low || value > high)
      throw new InvalidArgumentError(`expected an integer from ${low} to ${high}`);
    return value;
  };
}

/** Parser for commander: a finite number from `low` to `high`. */
export function decimal(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < low || value > high)
      throw new InvalidArgumentError(`expected a number from ${low} to ${high}`);
    return value;
  };
}

/** Parser for commander: an unsigned 64-bit seed, kept exact. */
export function seed(text: string): bigint {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) >= 1n << 64n)
    throw new InvalidArgumentError('expected an integer from 0 to 18446744073709551615');
  return BigInt(text);
}

/** Parser for commander: `1,2,3` as token ids. */
export function tokenIds(text: string): number[] {
  const parts = text.split(',').map((part) => part.trim());
  if (!parts.every((part) => /^\d{1,9}$/.test(part)))
    throw new InvalidArgumentError('expected token ids separated by commas, such as 1,2,3');
  return parts.map(Number);
}

/** Parser for commander: an option that may be given several times. */
export function repeated(text: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
