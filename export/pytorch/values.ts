import type { CheckpointDtype } from '../tensor.js';

/** What an unpickled state dict can be made of. Nothing else exists, so nothing else can be built. */
export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | PickleValue[]
  | PickleTuple
  | PickleDict
  | PickleGlobal
  | PickleStorage
  | PickleTensor;

export type PickleKey = null | boolean | number | bigint | string;

/** A Map, so that a key such as `__proto__` is only a key. */
export class PickleDict extends Map<PickleKey, PickleValue> {}

export class OrderedDict extends PickleDict {}

export class PickleTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}

/** A name from the list in globals.ts. It stands for itself: no code of that name is looked up. */
export class PickleGlobal {
  constructor(readonly name: string) {}
}

export class PickleStorage {
  constructor(
    readonly key: string,
    readonly dtype: CheckpointDtype,
    readonly elements: number,
  ) {}
}

/** A strided view; offset and strides count elements of the storage. */
export class PickleTensor {
  constructor(
    readonly storage: PickleStorage,
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {}
}

/** A short description for error messages; never walks into a value, which may contain itself. */
export function describe(value: PickleValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'None';
  if (typeof value === 'string') return `the string ${JSON.stringify(value.slice(0, 60))}`;
  if (typeof value === 'bigint' || typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof PickleTuple) return `a tuple of ${value.items.length}`;
  if (value instanceof PickleDict) return `a dict of ${value.size}`;
  if (value instanceof PickleGlobal) return `the global ${value.name}`;
  return value instanceof PickleStorage ? `storage "${value.key}"` : 'a tensor';
}
