import type { GgufValue } from '../../../../export/gguf-header.js';
import type { BitnetConfig } from './configs.js';
import { makeVocabulary, nSpecial } from './vocabulary.js';

/** With a head of its own the model has the form that was published first. */
export type Architecture = 'bitnet-b1.58' | 'bitnet-25';

const fileTypeI2S = 40;
const [normalToken, controlToken] = [1, 3];

/** The keys of a published file and its values; a chat template, which engines know themselves, is left out. */
export function bitnetMetadata(
  name: string,
  architecture: Architecture,
  config: BitnetConfig,
): Map<string, GgufValue> {
  const { vocabSize } = config;
  const { tokens, merges, bosId, eosId } = makeVocabulary(vocabSize, config.nMerges);
  const u32 = (value: number): GgufValue => ({ type: 'u32', value });
  const f32 = (value: number): GgufValue => ({ type: 'f32', value });
  const text = (value: string): GgufValue => ({ type: 'string', value });
  const types = new Int32Array(vocabSize).fill(normalToken).fill(controlToken, vocabSize - nSpecial);
  return new Map<string, GgufValue>([
    ['general.architecture', text(architecture)],
    ['general.name', text(name)],
    [`${architecture}.vocab_size`, u32(vocabSize)],
    [`${architecture}.context_length`, u32(config.maxContext)],
    [`${architecture}.embedding_length`, u32(config.embedDim)],
    [`${architecture}.block_count`, u32(config.nLayers)],
    [`${architecture}.feed_forward_length`, u32(config.ffnDim)],
    [`${architecture}.rope.dimension_count`, u32(config.headDim)],
    [`${architecture}.attention.head_count`, u32(config.nHeads)],
    [`${architecture}.attention.head_count_kv`, u32(config.nKvHeads)],
    [`${architecture}.attention.layer_norm_rms_epsilon`, f32(1e-5)],
    [`${architecture}.rope.freq_base`, f32(500000)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
    ['general.file_type', u32(fileTypeI2S)],
    ['tokenizer.ggml.model', text('gpt2')],
    ['tokenizer.ggml.tokens', { type: 'string[]', value: tokens }],
    ['tokenizer.ggml.scores', { type: 'f32[]', value: new Float32Array(vocabSize) }],
    ['tokenizer.ggml.token_type', { type: 'i32[]', value: types }],
    ['tokenizer.ggml.merges', { type: 'string[]', value: merges }],
    ['tokenizer.ggml.bos_token_id', u32(bosId)],
    ['tokenizer.ggml.eos_token_id', u32(eosId)],
    ['tokenizer.ggml.padding_token_id', u32(eosId)],
    ['general.quantization_version', u32(2)],
  ]);
}
