import { InvalidArgumentError } from 'commander';
import type { Activations } from '../../../native/host/index.js';

const known: readonly Activations[] = ['f32', 'i16', 'i8'];

/** Parser for commander: `f32,i16,i8` as precisions of activations, each once. */
export function activationsList(text: string): Activations[] {
  const found = text.split(',').map((part) => known.find((name) => name === part.trim()));
  const list = found.filter((name) => name !== undefined);
  if (list.length !== found.length || new Set(list).size !== list.length)
    throw new InvalidArgumentError(`expected ${known.join(', ')}, or several of them separated by commas`);
  return list;
}
