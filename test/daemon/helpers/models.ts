/** Model files for tests of the daemon: the reference cases of test/golden, exported, with and without a tokenizer. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportModel } from '../../../export/export.js';
import { enginePacker } from '../../../export/packer.js';
import { root, tempDir } from '../../tools/suite.js';
import { sentencePieceModel } from './sentencepiece.js';

const folder = tempDir();

/** The case that most tests use: 512 ids, a window shorter than its sequences, a context of 192. */
export const smallCase = 'b_window16_anchor4';
export const smallVocab = 512;
export const smallContext = 192;

export interface ModelChoice {
  name?: string;
  weights?: 'f32' | 'int8';
  tokenizer?: boolean;
  folder?: string;
}

/** Exports a reference case; returns the path of the model file, whose stem is `name`. */
export async function goldenModel(golden: string, choice: ModelChoice = {}): Promise<string> {
  const out = join(choice.folder ?? folder, `${choice.name ?? golden}.gguf`);
  let tokenizer: string | undefined;
  if (choice.tokenizer === true) {
    tokenizer = join(folder, 'tokenizer.model');
    writeFileSync(tokenizer, sentencePieceModel());
  }
  const checkpoint = join(root, 'test/golden', golden, 'model.pt');
  await exportModel({
    checkpoint,
    out,
    weights: choice.weights ?? 'f32',
    packer: enginePacker,
    tokenizer,
  });
  return out;
}

interface Entry {
  data_offsets: [number, number];
}

export interface GreedyCase {
  tag: string;
  prompt: number[];
  greedy: number[];
}

/** The prompts of a reference case and the ids that greedy decoding of the authors' code continues them with. */
export function greedyCases(golden: string, file = 'expected.safetensors'): GreedyCase[] {
  const bytes = readFileSync(join(root, 'test/golden', golden, file));
  const headerBytes = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + headerBytes)) as Record<string, Entry>;
  const ids = (name: string): number[] => {
    const [begin, end] = header[name]?.data_offsets ?? [0, 0];
    return Array.from({ length: (end - begin) / 4 }, (_, i) =>
      bytes.readInt32LE(8 + headerBytes + begin + 4 * i),
    );
  };
  const tags = Object.keys(header).flatMap((name) =>
    name.endsWith('.greedy_ids') ? [name.slice(0, -11)] : [],
  );
  return tags.map((tag) => ({ tag, prompt: ids(`${tag}.input_ids`), greedy: ids(`${tag}.greedy_ids`) }));
}
