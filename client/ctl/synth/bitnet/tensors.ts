import type { GgufTensor } from '../../../../export/gguf-header.js';
import type { BitnetConfig } from './configs.js';

/** A tensor's place in the file, and what fills it: `norm` around 1, `table` of deviation `scale`, `ternary` of weight scale `scale`. */
export interface BitnetTensor extends GgufTensor {
  fill: 'norm' | 'table' | 'ternary';
  scale: number;
}

// A hidden vector of unit mean square gives logits of a deviation of about 2.5 at a width of 2560.
const tableDeviation = 0.05;

/** In the order of published files. */
export function bitnetTensors(config: BitnetConfig, withOutput: boolean): BitnetTensor[] {
  const { embedDim, ffnDim, vocabSize } = config;
  const [attnDim, kvDim] = [config.nHeads * config.headDim, config.nKvHeads * config.headDim];
  const tensors = [table('token_embd.weight', embedDim, vocabSize)];
  for (let layer = 0; layer < config.nLayers; layer++) {
    const at = `blk.${layer}`;
    tensors.push(
      norm(`${at}.attn_norm.weight`, embedDim),
      ternary(`${at}.attn_q.weight`, embedDim, attnDim),
      ternary(`${at}.attn_k.weight`, embedDim, kvDim),
      ternary(`${at}.attn_v.weight`, embedDim, kvDim),
      norm(`${at}.attn_sub_norm.weight`, attnDim),
      ternary(`${at}.attn_output.weight`, attnDim, embedDim),
      norm(`${at}.ffn_norm.weight`, embedDim),
      ternary(`${at}.ffn_gate.weight`, embedDim, ffnDim),
      ternary(`${at}.ffn_up.weight`, embedDim, ffnDim),
      norm(`${at}.ffn_sub_norm.weight`, ffnDim),
      ternary(`${at}.ffn_down.weight`, ffnDim, embedDim),
    );
  }
  tensors.push(norm('output_norm.weight', embedDim));
  if (withOutput) tensors.push(table('output.weight', embedDim, vocabSize));
  return tensors;
}

function norm(name: string, n: number): BitnetTensor {
  return { name, type: 'f32', dims: [n], fill: 'norm', scale: 1 };
}

function table(name: string, columns: number, rows: number): BitnetTensor {
  return { name, type: 'f16', dims: [columns, rows], fill: 'table', scale: tableDeviation };
}

/** Two of three weights are not 0: with this scale a normalised input gives outputs of a deviation of 1. */
function ternary(name: string, columns: number, rows: number): BitnetTensor {
  return {
    name,
    type: 'i2_s',
    dims: [columns, rows],
    fill: 'ternary',
    scale: 1 / Math.sqrt((2 / 3) * columns),
  };
}
