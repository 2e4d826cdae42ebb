import type { GgufValue } from '../gguf-header.js';
import type { Tokenizer } from '../tokenizer.js';
import type { Config } from './config.js';
import type { StoragePlan } from './storage-plan.js';
import { logicalShape, type StoredTensor } from './stored-tensor.js';

export const formatVersion = 1;

const u32Keys = [
  'vocab_size',
  'embed_dim',
  'n_layers',
  'n_heads',
  'head_dim',
  'intermediate_dim',
  'max_seq_len',
  'sparse_attn_window',
  'n_global_anchors',
] as const;

export interface ModelDescription {
  name: string;
  config: Config;
  plan: StoragePlan;
  tokenizer: Tokenizer | undefined;
  tensors: readonly StoredTensor[];
}

/** Every key of docs/model-file.md but the data's hash, which the writer adds. */
export function modelMetadata({
  name,
  config,
  plan: { weights, layoutPlan },
  tokenizer,
  tensors,
}: ModelDescription): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>();
  const set = (key: string, value: GgufValue): void => void metadata.set(key, value);
  const own = (key: string, value: GgufValue): void => set(`symboliclight.${key}`, value);
  set('general.architecture', { type: 'string', value: 'symboliclight' });
  set('general.name', { type: 'string', value: name });
  set('general.alignment', { type: 'u32', value: 64 });
  own('format_version', { type: 'u32', value: formatVersion });
  own('form', { type: 'string', value: config.form });
  own('weights', { type: 'string', value: weights });
  if (layoutPlan !== 'mixed') own('layout_plan', { type: 'string', value: layoutPlan });
  for (const key of u32Keys) own(key, { type: 'u32', value: config[key] });
  for (const key of ['spike_threshold', 'leak_factor'] as const)
    own(key, { type: 'f32', value: config[key] });
  for (const key of ['enable_sparse_attn', 'enable_dynamic_prior'] as const)
    own(key, { type: 'bool', value: config[key] });
  own('tokenizer_size', { type: 'u32', value: tokenizer?.size ?? config.vocab_size });
  if (tokenizer?.bytes !== undefined)
    set('tokenizer.sentencepiece.model', { type: 'u8[]', value: tokenizer.bytes });
  for (const { tensor, layout, scaleShape } of tensors) {
    own(`layout.${tensor.name}`, { type: 'string', value: layout });
    own(`shape.${tensor.name}`, { type: 'u64[]', value: logicalShape(tensor.shape) });
    if (scaleShape !== undefined) own(`scale_shape.${tensor.name}`, { type: 'u64[]', value: scaleShape });
  }
  return metadata;
}
