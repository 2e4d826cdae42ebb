import { SpikedError } from '../../client/protocol/errors.js';
import type { Checkpoint } from '../checkpoint.js';

/** Which of the two published graphs a checkpoint holds (docs/model-file.md). */
export type Form = '0.8b' | '194m';

/** The keys of a checkpoint's config that the graph needs, by their names there. */
export interface Config {
  form: Form;
  vocab_size: number;
  embed_dim: number;
  n_layers: number;
  n_heads: number;
  head_dim: number;
  intermediate_dim: number;
  max_seq_len: number;
  sparse_attn_window: number;
  n_global_anchors: number;
  spike_threshold: number;
  leak_factor: number;
  enable_sparse_attn: boolean;
  enable_dynamic_prior: boolean;
}

const maxLayers = 1024;
const maxSize = 2 ** 31 - 1;

/**
 * The checked configuration; keys that the graph does not need are ignored.
 *
 * @throws SpikedError ERR_CHECKPOINT_INVALID naming the key, what was expected and what was found
 */
export function readConfig(checkpoint: Checkpoint): Config {
  const key = new Keys(checkpoint);
  const config: Config = {
    form: formOf(checkpoint),
    vocab_size: key.integer('vocab_size', 1),
    embed_dim: key.integer('embed_dim', 4),
    n_layers: key.integer('n_layers', 1, maxLayers),
    n_heads: key.integer('n_heads', 1),
    head_dim: key.integer('head_dim', 2),
    intermediate_dim: key.integer('intermediate_dim', 1),
    max_seq_len: key.integer('max_seq_len', 1),
    sparse_attn_window: key.integer('sparse_attn_window', 0),
    n_global_anchors: key.integer('n_global_anchors', 0),
    spike_threshold: key.float('spike_threshold'),
    leak_factor: key.float('leak_factor'),
    enable_sparse_attn: key.boolean('enable_sparse_attn'),
    enable_dynamic_prior: key.boolean('enable_dynamic_prior'),
  };
  const heads = config.n_heads * config.head_dim;
  if (heads !== config.embed_dim)
    throw key.error('embed_dim', `n_heads * head_dim = ${heads}`, config.embed_dim);
  if (config.head_dim % 2 !== 0) throw key.error('head_dim', 'an even number', config.head_dim);
  return config;
}

/** Keys beyond which a query sees nothing but the anchors; the 0.8b code never lets the window be empty. */
export function windowOf({ form, sparse_attn_window }: Config): number {
  return form === '0.8b' ? Math.max(1, sparse_attn_window) : sparse_attn_window;
}

/**
 * Only the 0.8b graph learns its prior weight, only 194m's config speaks of an entropy exit. A checkpoint with neither
 * counts as 0.8b, so that one which lost the tensor is refused instead of run with another graph's constant.
 */
function formOf({ config, tensors }: Checkpoint): Form {
  if (tensors.has('output_head.prior_weight')) return '0.8b';
  const hasExit = ['enable_entropy_exit', 'entropy_exit_threshold'].some((key) => Object.hasOwn(config, key));
  return hasExit ? '194m' : '0.8b';
}

class Keys {
  constructor(private readonly checkpoint: Checkpoint) {}

  integer(key: string, least: number, most = maxSize): number {
    const value = this.value(key);
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
      throw this.error(key, `an integer from ${least} to ${most}`, value);
    return value;
  }

  float(key: string): number {
    const value = this.value(key);
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value)))
      throw this.error(key, 'a finite number', value);
    return value;
  }

  boolean(key: string): boolean {
    const value = this.value(key);
    if (typeof value !== 'boolean') throw this.error(key, 'true or false', value);
    return value;
  }

  error(key: string, expected: string, found: unknown): SpikedError {
    const shown = ['string', 'number', 'boolean', 'bigint'].includes(typeof found)
      ? String(found).slice(0, 60)
      : found === null ? 'null' : found === undefined ? 'no such key' : 'another value'; // prettier-ignore
    return new SpikedError(
      'ERR_CHECKPOINT_INVALID',
      `${this.checkpoint.path}: config "${key}": expected ${expected}, found ${shown}`,
    );
  }

  private value(key: string): unknown {
    return Object.hasOwn(this.checkpoint.config, key) ? this.checkpoint.config[key] : undefined;
  }
}
