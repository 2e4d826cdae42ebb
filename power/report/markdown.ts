import { plural } from '../plural.js';
import { evidence, headline, sentence, shortNumber, signedPercent } from './words.js';
import { environmentSection } from './markdown-environment.js';
import { methodSection } from './markdown-method.js';
import { runsTable } from './markdown-runs.js';
import { markdownTable } from './markdown-table.js';
import type { ArmResult, CandidateResult, Result } from './result.js';
import type { ComparedFigure, Comparison } from '../statistics/verdict.js';
import { share } from '../statistics/wording.js';

/**
 * The report for a person: the verdict first, then the figures, how they came about, what does not count and why, and what they were
 * measured on.
 *
 * @param pictures  names of picture files beside it, by what they show
 */
export function reportMarkdown(
  result: Result,
  pictures: Readonly<Record<'paired' | 'runs' | 'trace', string | null>>,
): string {
  const image = (title: string, file: string | null) => (file === null ? [] : [`![${title}](${file})`]);
  return `${[
    `# Energy per token: ${result.name}`,
    ...(result.simulated ? [simulatedStamp] : []),
    ...result.verdicts.map((one) => `**${headline(one)}** ${evidence(one)}`),
    ...unfinished(result),
    ...result.verdicts.flatMap(idsSentence),
    '## Arms',
    armsTable(result.arms),
    `Means of the runs that count, ${result.window} window. Total is everything inside the boundary; net of idle is that less the idle power; the paper’s figure divides the trimmed window’s energy by all tokens, and is low for it.`,
    '## Against the baseline',
    comparisonTable(result),
    ...image('Paired differences', pictures.paired),
    '## Every run',
    runsTable(result),
    ...image('Joules per token of every run', pictures.runs),
    ...image('Power over time', pictures.trace),
    ...methodSection(result),
    ...excludedSection(result),
    ...(result.notes.length === 0 ? [] : ['## Notes', result.notes.map((note) => `- ${note}`).join('\n')]),
    ...environmentSection(result),
    '## Raw files',
    'Everything above is computed from these files and can be computed again: `spikectl energy analyze`.',
    markdownTable(
      ['file', 'bytes', 'SHA-256'],
      result.files.map(({ path, bytes, sha256 }) => [path, String(bytes), `\`${sha256}\``]),
    ),
  ].join('\n\n')}\n`;
}

/** What every output says of figures that no meter measured. */
export const simulatedStamp =
  '> **SIMULATED: no meter measured these figures. They show that the method works, and nothing about energy.**';

function unfinished({ ended, parts, blocks, method, verdicts }: Result): string[] {
  if (ended === 'complete') return [];
  const done = blocks.filter(({ used }) => used).length;
  const why = parts.at(-1)?.why;
  const state = { unfinished: 'has no end in its journal', aborted: 'was aborted', failed: 'failed' }[ended];
  return [
    `The experiment ${state}${why ? ` (${why})` : ''}: ${done} of ${plural(method.blocks * verdicts.length, 'block')} count.`,
  ];
}

function idsSentence({ candidate, baseline, pairs, pairs_with_equal_ids: equal }: CandidateResult): string[] {
  if (pairs === 0) return [];
  if (equal === pairs) return [`${candidate} gave the tokens of ${baseline} in every pair.`];
  return [
    `**${candidate} gave other tokens than ${baseline} in ${pairs - equal} of ${plural(pairs, 'pair')}**: the figures are of as many tokens, not of the same text.`,
  ];
}

function armsTable(arms: readonly ArmResult[]): string {
  return markdownTable(
    ['arm', 'runs that count', 'tokens/s', 'mean W', 'J/token', 'net of idle', 'paper’s figure'],
    arms.map((arm) => [
      arm.arm,
      `${arm.used_runs} of ${arm.runs}`,
      shortNumber(arm.tokens_per_second),
      shortNumber(arm.mean_watts),
      shortNumber(arm.j_per_token),
      shortNumber(arm.net_j_per_token),
      shortNumber(arm.paper_trimmed_j_per_token),
    ]),
  );
}

const figureNames: Readonly<Record<ComparedFigure, string>> = {
  j_per_token: 'J/token',
  net_j_per_token: 'net of idle',
  paper_trimmed_j_per_token: 'paper’s figure',
};

function comparisonTable({ verdicts, window }: Result): string {
  const row = (candidate: string, of: string, one: Comparison, bold: boolean) => {
    const cells = [
      candidate,
      `${of}, ${figureNames[one.figure]}`,
      one.verdict,
      signedPercent(one.ratio, one.u_combined),
      one.interval === null
        ? '–'
        : `${signedPercent(one.interval.low)} to ${signedPercent(one.interval.high)}`,
      one.sign_flip === null
        ? '–'
        : `${one.sign_flip.p.toPrecision(2)} (least ${one.sign_flip.smallest.toPrecision(2)})`,
      one.minimum_detectable === null ? '–' : share(one.minimum_detectable),
      `${one.blocks.length} of ${one.blocks.length + one.excluded.length}`,
    ];
    return bold ? cells.map((cell) => `**${cell}**`) : cells;
  };
  return markdownTable(
    ['candidate', 'figure', 'verdict', 'difference', '95 % interval', 'sign-flip p', 'detectable', 'blocks'],
    verdicts.flatMap(({ candidate, verdict, others }) => [
      row(candidate, window, verdict, true),
      ...others.map(({ window: other, comparison }) => row(candidate, other, comparison, false)),
    ]),
  );
}

function excludedSection({ blocks, runs, window, verdicts }: Result): string[] {
  const lines = [
    ...blocks
      .filter(({ used }) => !used)
      .map(({ block, attempt, candidate, why }) => {
        const again = attempt > 1 ? `, attempt ${attempt}` : '';
        return `- Block ${block}${again} (${candidate}): ${why.map(sentence).join(' ')}`;
      }),
    ...runs.flatMap((run) =>
      run[window].figures.valid
        ? []
        : [
            `- Run ${run.block}-${run.slot}${run.attempt > 1 ? `, attempt ${run.attempt}` : ''} (${run.arm}): ${run[window].figures.reasons.map(({ reason, text }) => `\`${reason}\` ${sentence(text)}`).join(' ')}`,
          ],
    ),
  ];
  const rule =
    'A block counts when all of its runs are valid; the reasons that make a run invalid are fixed before any run (docs/energy.md). What does not count is in no mean.';
  const missing = verdicts.length === 0 ? [] : lines.length === 0 ? ['Nothing.'] : [lines.join('\n')];
  return ['## What does not count, and why', rule, ...missing];
}
