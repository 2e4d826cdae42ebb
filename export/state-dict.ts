import { SpikedError } from '../client/protocol/errors.js';

const wrapperPrefixes = ['module.', '_orig_mod.'];

/** The name a model gave a tensor, without what data-parallel and compile wrappers put in front of it. */
export function unwrappedName(key: string): string {
  for (;;) {
    const prefix = wrapperPrefixes.find((candidate) => key.startsWith(candidate));
    if (prefix === undefined) return key;
    key = key.slice(prefix.length);
  }
}

/**
 * Tensors by their unwrapped names, in the file's order. Membranes (`v_mem`) are state of a run, not weights: dropped.
 *
 * @throws SpikedError ERR_CHECKPOINT_INVALID when two keys unwrap to one name
 */
export function unwrapNames<T>(file: string, tensors: Iterable<readonly [string, T]>): Map<string, T> {
  const unwrapped = new Map<string, T>();
  for (const [key, tensor] of tensors) {
    if (key.includes('v_mem')) continue;
    const name = unwrappedName(key);
    if (unwrapped.has(name))
      throw new SpikedError(
        'ERR_CHECKPOINT_INVALID',
        `${file}: tensor "${name}": expected once, found again as "${key}"`,
      );
    unwrapped.set(name, tensor);
  }
  return unwrapped;
}
