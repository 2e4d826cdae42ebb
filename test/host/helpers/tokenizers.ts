import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedDir } from '../../tools/suite.js';

/** The released tokenizers, with the key under which the reference cases name them. */
export const released = [
  { key: '08b', file: 'symboliclight-0.8b.model' },
  { key: '194m', file: 'symboliclight-194m.model' },
] as const;

export type Key = (typeof released)[number]['key'];

interface EncodeCase {
  i: number;
  text: string;
  '08b': { ids: number[]; decode: string };
  '194m': { ids: number[]; decode: string };
}

export interface Cases {
  cases: EncodeCase[];
  byte_input_cases: { hex: string; '08b': { ids: number[] }; '194m': { ids: number[] } }[];
  decode_cases: { ids: number[]; '08b': string; '194m': string }[];
}

const shared = sharedDir() ?? 'shared';
const casesFile = join(shared, 'golden', 'tokenizer_cases.json');

/** What a test on the released tokenizers lacks; undefined when it is there. */
export const missingTokenizers =
  existsSync(casesFile) && existsSync(join(shared, 'tokenizers'))
    ? undefined
    : 'no shared/ with the released tokenizers beside the checkout';

export const readModel = (file: string): Buffer => readFileSync(join(shared, 'tokenizers', file));
export const readCases = (): Cases => JSON.parse(readFileSync(casesFile, 'utf8')) as Cases;
