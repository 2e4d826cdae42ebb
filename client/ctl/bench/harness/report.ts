import { basename } from 'node:path';
import type { ModelInfo } from '../../../../native/host/index.js';
import { machineFacts, shown, spreadFields } from '../facts.js';
import { markdownTable } from '../paper/report.js';
import type { Outcome } from './outcome.js';
import { harnessTokens } from './prompts.js';
import type { ModelSource } from './source.js';

export interface HarnessReport {
  source: ModelSource;
  info: ModelInfo;
  promptSource: string;
  rounds: number;
  threads: number;
  isa: string;
  outcomes: Outcome[];
}

export function harnessJson(report: HarnessReport) {
  const { source, info } = report;
  return {
    format: 'spiked bench harness 1',
    model: {
      file: basename(source.path),
      name: info.name,
      architecture: info.architecture,
      sha256: source.sha256,
      published: source.isPublished,
      random_weights: hasRandomWeights(info),
    },
    prompts: report.promptSource,
    tokens: harnessTokens,
    rounds: report.rounds,
    threads: report.threads,
    isa: report.isa,
    ...machineFacts(),
    configurations: report.outcomes.map((one) => {
      const measured = one.refused === undefined;
      return {
        name: one.name,
        exact: one.exact,
        refused: one.refused ?? null,
        prompts: one.nPrompts,
        prompts_matched: measured ? one.matched : null,
        ...spreadFields('tokens_per_s', measured ? one.tokensPerSecond : null),
        ...spreadFields('steady_rss_bytes', measured ? one.steadyRssBytes : null),
        peak_rss_bytes: measured ? one.peakRssBytes : null,
        head_rows_per_step: measured ? one.headRowsPerStep : null,
        head_fell_back: measured ? one.fellBack : null,
        accepted_lengths: one.acceptedLengths,
      };
    }),
  };
}

export function harnessMarkdown(report: HarnessReport): string {
  const { source, info, outcomes } = report;
  const { cpu, cores, version, commit, load_average: load } = machineFacts();
  const facts = [
    ['model', `${info.name}, ${info.architecture}, SHA-256 ${source.sha256}${source.isPublished ? ' (as published)' : ''}`],
    ['prompts', `${report.promptSource}, ${harnessTokens} tokens each, greedy, past any end of text`],
    ['engine', `${version}, commit ${commit}, ${report.isa}, threads: ${report.threads}`],
    ['machine', `${cpu}, ${cores} cores, load average ${load.toFixed(2)}`],
  ]; // prettier-ignore
  const rows = outcomes.map((one) =>
    one.refused === undefined
      ? [
          one.name,
          `${one.matched} of ${one.nPrompts}`,
          shown(one.tokensPerSecond, 2),
          mebibytes(one.steadyRssBytes.median),
          mebibytes(one.peakRssBytes),
          one.headRowsPerStep.toFixed(1),
          String(one.fellBack),
          one.acceptedLengths?.join(' ') ?? '',
        ]
      : [one.name, 'not of this model', '', '', '', '', '', ''],
  );
  return [
    `# Harness: ${info.name}`,
    ...(hasRandomWeights(info)
      ? ['**Random weights.** How often ids match says little here: trained rows are not random rows.']
      : []),
    markdownTable(['', ''], facts),
    markdownTable(
      ['configuration', 'prompts as plain greedy', 'tokens/s', 'steady RSS, MiB', 'peak RSS, MiB', 'head rows a step', 'fell back', 'passes by right guesses, 0 …'],
      rows,
    ), // prettier-ignore
    `Each configuration has a fresh process a round; in each of ${report.rounds} rounds all have their turn. Tokens/s: median and range of the rounds, all prompts together, each from its first token to its last. Steady RSS: the process when all prompts are done, Node included. Head rows are those computed exactly.`,
  ].join('\n\n');
}

/** Whether `spikectl synth` made it. */
function hasRandomWeights({ name }: ModelInfo): boolean {
  return name.startsWith('synth-');
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}
