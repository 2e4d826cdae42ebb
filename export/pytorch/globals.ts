import { elementCount, type CheckpointDtype } from '../tensor.js';
import {
  describe,
  OrderedDict,
  PickleGlobal,
  PickleStorage,
  PickleTensor,
  PickleTuple,
  type PickleValue,
} from './values.js';

const storageTypes = new Map<string, CheckpointDtype>([
  ['torch.FloatStorage', 'f32'],
  ['torch.HalfStorage', 'f16'],
  ['torch.BFloat16Storage', 'bf16'],
  ['torch.BoolStorage', 'bool'],
  ['torch.DoubleStorage', 'f64'],
  ['torch.LongStorage', 'i64'],
  ['torch.IntStorage', 'i32'],
  ['torch.ShortStorage', 'i16'],
  ['torch.CharStorage', 'i8'],
  ['torch.ByteStorage', 'u8'],
]);

/** A pickle's mistake, in words; the unpickler adds file and place. */
export type Fail = (found: string) => never;

type Constructor = (args: readonly PickleValue[], fail: Fail) => PickleValue;

const constructors = new Map<string, Constructor>([
  ['collections.OrderedDict', orderedDict],
  ['torch._utils._rebuild_tensor_v2', rebuildTensor],
  ['torch._utils._rebuild_parameter', rebuildParameter],
]);

export function isAllowedGlobal(name: string): boolean {
  return storageTypes.has(name) || constructors.has(name);
}

/** What the named constructor returns for `args`: always one of our own values, by our own code. */
export function construct(callable: PickleValue, args: PickleValue, fail: Fail): PickleValue {
  const build = callable instanceof PickleGlobal ? constructors.get(callable.name) : undefined;
  if (build === undefined)
    return fail(`expected a tensor or OrderedDict constructor to call, found ${describe(callable)}`);
  if (!(args instanceof PickleTuple)) return fail(`expected a tuple of arguments, found ${describe(args)}`);
  return build(args.items, fail);
}

/** The storage that a persistent id ('storage', type, key, location, elements) names. */
export function persistentStorage(id: PickleValue, fail: Fail): PickleStorage {
  const [tag, type, key, , elements] = id instanceof PickleTuple && id.items.length === 5 ? id.items : [];
  if (tag !== 'storage') return fail(`expected a storage as persistent id, found ${describe(tag ?? id)}`);
  const dtype = type instanceof PickleGlobal ? storageTypes.get(type.name) : undefined;
  if (dtype === undefined) return fail(`expected a storage type, found ${describe(type)}`);
  if (typeof key !== 'string') return fail(`expected a storage's key, found ${describe(key)}`);
  if (!isSize(elements))
    return fail(`expected storage "${key}"'s number of elements, found ${describe(elements)}`);
  return new PickleStorage(key, dtype, elements);
}

function orderedDict(args: readonly PickleValue[], fail: Fail): PickleValue {
  return args.length === 0
    ? new OrderedDict()
    : fail(`expected OrderedDict without arguments, found ${args.length}`);
}

function rebuildParameter([tensor]: readonly PickleValue[], fail: Fail): PickleValue {
  return tensor instanceof PickleTensor
    ? tensor
    : fail(`expected a parameter's tensor, found ${describe(tensor)}`);
}

// Arguments: storage, offset, shape, strides, requires_grad, backward_hooks and, in newer files, metadata.
function rebuildTensor([storage, offset, shape, strides]: readonly PickleValue[], fail: Fail): PickleValue {
  if (!(storage instanceof PickleStorage))
    return fail(`expected a tensor's storage, found ${describe(storage)}`);
  if (!isSize(offset)) return fail(`expected a tensor's offset, found ${describe(offset)}`);
  const sizes = sizesOf(shape) ?? fail(`expected a tensor's shape, found ${describe(shape)}`);
  const steps = sizesOf(strides) ?? fail(`expected a tensor's strides, found ${describe(strides)}`);
  if (sizes.length !== steps.length) return fail(`expected ${sizes.length} strides, found ${steps.length}`);
  const count = elementCount(sizes) ?? fail('expected a tensor of fewer than 2^53 elements, found more');
  const last = sizes.reduce((sum, size, dim) => sum + (size - 1) * (steps[dim] ?? 0), offset);
  if (count > 0 && !(last < storage.elements))
    return fail(
      `expected a view inside storage "${storage.key}" of ${storage.elements} elements, found one that reaches element ${last}`,
    );
  // An expanded view (stride 0) could claim any size over a few bytes; a state dict has no use for one that does.
  if (count > storage.elements)
    return fail(
      `expected at most the ${storage.elements} elements of storage "${storage.key}", found a view of ${count}`,
    );
  return new PickleTensor(storage, offset, sizes, steps);
}

const maxDims = 8;

function sizesOf(value: PickleValue | undefined): number[] | undefined {
  if (!(value instanceof PickleTuple) || value.items.length > maxDims) return undefined;
  return value.items.every(isSize) ? [...value.items] : undefined;
}

function isSize(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
