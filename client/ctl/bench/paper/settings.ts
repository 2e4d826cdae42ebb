import type { HeadSettings } from '../../../../native/host/index.js';

export const tableNames = [
  'precision',
  'threads',
  'prefill',
  'layout',
  'numerics',
  'perplexity',
  'head',
] as const;
export type TableName = (typeof tableNames)[number];

export const formats = ['f32', 'int8', 'int4mix'] as const;
export type Format = (typeof formats)[number];
export type Precision = 'f32' | 'i16' | 'i8';
export type LayoutPlan = 'mixed' | 'row' | 'column';

/** A model file that the tables need, made from the model given. */
export interface Variant {
  /** `int8`, `f32-row`; `golden-int8` for one made from a reference case. */
  id: string;
  weights: Format;
  layoutPlan: LayoutPlan;
  /** Folder of the reference case whose checkpoint it is made from; the model given when undefined. */
  golden?: string | undefined;
}

/** The paper's head: an i8 pass, and the k best rows again in f32 when the top-two gap is below the threshold. */
export interface Gate {
  mode: 'gate';
  scope: 'projection' | 'head';
  threshold: number;
  k: number;
}

/** What one process does, after it has loaded the model. */
export type Work =
  | { kind: 'decode'; ids: number[]; tokens: number }
  | { kind: 'prefill'; ids: number[] }
  | { kind: 'numerics'; ids: number[]; prompt: number[]; tokens: number }
  | { kind: 'perplexity'; ids: number[]; seq: number; stride: number }
  | { kind: 'golden'; folder: string }
  | { kind: 'head'; ids: number[]; tokens: number; head: Gate }
  | {
      kind: 'harness';
      prompts: number[][];
      tokens: number;
      head: HeadSettings;
      maxDraft?: number | undefined;
    };

export interface Setting {
  id: string;
  variant: Variant;
  threads: number;
  activations: Precision;
  work: Work;
  /** Measured several times, each in a process of its own; what is the same bits every time is computed once. */
  timed: boolean;
}

/** What a measuring process is told, as one line on its standard input. */
export interface Job {
  model: string;
  threads: number;
  activations: Precision;
  /** Of a ternary model's tables; `normal` when absent. */
  memory?: 'normal' | 'low' | undefined;
  /** Of a weight in the first pass of a head over F16 rows; 8 when absent. */
  headBits?: 4 | undefined;
  work: Work;
  /** Bytes of the plain read behind the measurement; 0 for none. */
  bandwidthBytes: number;
}

/** Precisions that the blocks' dense products of a format have. */
export function precisionsOf(format: Format): readonly Precision[] {
  return format === 'f32' ? ['f32'] : ['f32', 'i16', 'i8'];
}
