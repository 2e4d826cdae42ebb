/** The shapes of a ternary model that `synth` can fill with random weights. */
export interface BitnetConfig {
  /** The last 256 ids are special tokens. */
  vocabSize: number;
  /** Lines of the merge table; only as many as there are ways to make a token of two. */
  nMerges: number;
  embedDim: number;
  nLayers: number;
  nHeads: number;
  nKvHeads: number;
  headDim: number;
  ffnDim: number;
  maxContext: number;
}

export const bitnetConfigs = {
  /** BitNet b1.58 2B4T, tensor for tensor. */
  'bitnet-2b4t': {
    vocabSize: 128256,
    nMerges: 280147,
    embedDim: 2560,
    nLayers: 30,
    nHeads: 20,
    nKvHeads: 5,
    headDim: 128,
    ffnDim: 6912,
    maxContext: 4096,
  },
  /** The same proportions, small enough for a quick test: more than one block a row, grouped heads. */
  'bitnet-tiny': {
    vocabSize: 1280,
    nMerges: 768,
    embedDim: 256,
    nLayers: 3,
    nHeads: 4,
    nKvHeads: 1,
    headDim: 64,
    ffnDim: 640,
    maxContext: 512,
  },
} as const satisfies Record<string, BitnetConfig>;

export type BitnetConfigName = keyof typeof bitnetConfigs;
export const bitnetConfigNames = Object.keys(bitnetConfigs) as BitnetConfigName[];
