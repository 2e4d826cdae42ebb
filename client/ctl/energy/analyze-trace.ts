import { InvalidArgumentError } from 'commander';
import { SpikedError } from '../../protocol/errors.js';
import { shortNumber, withUncertainty } from '../../../power/report/words.js';
import { traceRun, type TraceRun } from '../../../power/report/trace-run.js';
import { printJson, printLine, table } from '../output.js';

export interface TraceOptions {
  from?: bigint | undefined;
  to?: bigint | undefined;
  trim?: number | undefined;
  latency?: number | undefined;
}

/** Parser for commander: nanoseconds of the trace's clock. */
export function nanoseconds(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('expected nanoseconds, as t_ns in the files');
  return BigInt(text);
}

/** Prints the figures of one window of a trace; ends with ERR_CHECK_FAILED when it has none. */
export async function analyzeTrace(
  trace: string,
  tokens: string,
  { from, to, trim = 2, latency = 0 }: TraceOptions,
  json: boolean,
): Promise<void> {
  const found = await traceRun(trace, tokens, { fromNs: from, toNs: to, trimS: trim, latencyS: latency });
  await (json ? printJson(found) : printLine(text(found)));
  const [reason] = found.figures.reasons;
  if (reason !== undefined) throw new SpikedError('ERR_CHECK_FAILED', `${trace}: no energy: ${reason.reason}: ${reason.text}`); // prettier-ignore
}

function text({ simulated, figures, update_period_s: period, update_period_basis: basis }: TraceRun): string {
  const rows = [
    ['J/token', withUncertainty(figures.j_per_token)],
    ['paper’s figure, J/token', withUncertainty(figures.paper_trimmed_j_per_token)],
    ['energy, J', withUncertainty(figures.joules)],
    ['mean power, W', withUncertainty(figures.mean_watts)],
    ['tokens/s', shortNumber(figures.tokens_per_second)],
    ['tokens in the trimmed window', `${figures.tokens_in_window} of ${figures.tokens}`],
    ['trimmed window, s', `${shortNumber(figures.trimmed_s)} of ${shortNumber(figures.window_s)}, ${shortNumber(figures.trim_s)} cut off each end`], // prettier-ignore
    ['coverage', figures.coverage === null ? '–' : `${(100 * figures.coverage).toFixed(2)} %`],
    ['largest gap, s', shortNumber(figures.largest_gap_s)],
    ['samples', `${figures.samples}, ${figures.unusable_samples} unusable`],
    ['update period, s', `${shortNumber(period)} (${basis === 'profile' ? 'by the profile' : 'measured'})`],
    ['integration', figures.rule],
    ...figures.reasons.map(({ reason, text: why }) => ['invalid', `${reason}: ${why}`]),
    ...figures.warnings.map((warning) => ['warning', warning]),
  ];
  const stamp = simulated ? ['SIMULATED: no meter measured these figures.'] : [];
  return [...stamp, table(rows)].join('\n');
}
