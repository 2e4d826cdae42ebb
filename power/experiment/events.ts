import type { Preview } from './preview.js';
import type { RunEntry } from './record.js';

/** What an experiment tells while it goes on, for whoever shows it. */
export type ExperimentEvent =
  /** What lies before it: once the pilot knows, and settled when the warm-up has shown speed and power. */
  | { readonly kind: 'preview'; readonly preview: Preview; readonly settled: boolean }
  /** Something that is no run begins; seconds that it takes, where that is known. */
  | { readonly kind: 'phase'; readonly text: string; readonly seconds: number | null }
  | {
      readonly kind: 'run';
      readonly block: number;
      readonly blocks: number;
      readonly slot: number;
      readonly arm: string;
      readonly tokens: number;
      /** Estimated, of everything that is left, this run included. */
      readonly leftSeconds: number;
    }
  /** Of the generation under way. */
  | { readonly kind: 'tokens'; readonly count: number }
  | {
      readonly kind: 'run-done';
      readonly entry: RunEntry;
      readonly tokensPerSecond: number | null;
      /** Mean over the whole run, for people. */
      readonly watts: number | null;
    }
  | { readonly kind: 'block-done'; readonly block: number; readonly done: boolean; readonly why?: string }
  | { readonly kind: 'remark'; readonly text: string };
export type Report = (event: ExperimentEvent) => void;
