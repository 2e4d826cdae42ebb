import { paperValues as paper } from './paper-values.js';
import type { Spread } from '../stats.js';
import type { RateRow, Tables } from './tables.js';
import { type formats } from './settings.js';

/** A table in Markdown. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

/** The report's sections, one a table; a chart stands where there is one. */
export function sections(tables: Tables): string[] {
  const found: string[] = [];
  const add = (title: string, chart: string | undefined, ...body: string[]) => {
    const image = chart === undefined ? [] : [`![${title}](${chart})`];
    found.push([`## ${title}`, ...body, ...image].join('\n\n'));
  };
  if (tables.precision) add('Weight formats', 'formats.svg', precision(tables.precision));
  if (tables.threads) add('Thread scaling', 'threads.svg', threads(tables.threads));
  if (tables.prefill) add('Prefill', 'prefill.svg', prefill(tables.prefill));
  if (tables.layout) add('Layout of FP32 weights', 'layout.svg', layout(tables.layout));
  if (tables.numerics) add('Numerics', undefined, ...numerics(tables.numerics));
  if (tables.perplexity) add('Perplexity', undefined, perplexity(tables.perplexity));
  if (tables.head) add('Head trace', 'head.svg', head(tables.head));
  return found;
}

const names = { f32: 'FP32', int8: 'INT8', int4mix: 'INT4mix' } as const;
const number = (value: number | undefined, digits: number) =>
  value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits);
const percent = (share: number | undefined) => (share === undefined ? '–' : `${(100 * share).toFixed(1)} %`);
const withRange = ({ median, min, max }: Spread) =>
  min === max ? number(median, 2) : `${number(median, 2)} (${number(min, 2)} to ${number(max, 2)})`;
const bandwidth = (row: RateRow) => number(row.read_bandwidth_gb_s.median, 1);

function precision(rows: NonNullable<Tables['precision']>): string {
  const cells = rows.map((row) => {
    const theirs = paper.precision[row.weights];
    return [
      names[row.weights],
      number(row.weights_mib, 1),
      withRange(row.tokens_per_s),
      number(row.peak_rss_mib, 1),
      number(row.sampled_rss_mib, 1),
      bandwidth(row),
      percent(row.share),
      number(theirs.weightsMib, 1),
      number(theirs.tokensPerSecond, 2),
      number(theirs.peakRssMib, 1),
    ];
  });
  const of = (weights: (typeof formats)[number]) => rows.find((row) => row.weights === weights);
  const [int8, int4] = [of('int8'), of('int4mix')];
  const ratio = (a: number | undefined, b: number | undefined) => number((a ?? NaN) / (b ?? NaN), 3);
  const ratios = [
    'INT4mix / INT8',
    ratio(int4?.weights_mib, int8?.weights_mib),
    ratio(int4?.tokens_per_s.median, int8?.tokens_per_s.median),
    ratio(int4?.peak_rss_mib, int8?.peak_rss_mib),
    ratio(int4?.sampled_rss_mib, int8?.sampled_rss_mib),
    '',
    '',
    ratio(paper.precision.int4mix.weightsMib, paper.precision.int8.weightsMib),
    ratio(paper.precision.int4mix.tokensPerSecond, paper.precision.int8.tokensPerSecond),
    '–',
  ];
  const head = ['weights', 'MiB', 'tok/s', 'peak RSS MiB (kernel)', 'peak RSS MiB (sampled)', 'read GB/s', 'share of it', 'paper: MiB', 'paper: tok/s', 'paper: RSS MiB']; // prettier-ignore
  return markdownTable(head, [...cells, ratios]);
}

function threads(rows: NonNullable<Tables['threads']>): string {
  const first = rows[0]?.tokens_per_s.median ?? NaN;
  const theirs = (n: number) => paper.threads[n];
  return markdownTable(
    [
      'threads, INT8',
      'tok/s',
      'speedup',
      'read GB/s',
      'share of it',
      'same ids',
      'paper: tok/s',
      'paper: speedup',
    ],
    rows.map((row) => [
      String(row.threads),
      withRange(row.tokens_per_s),
      number(row.tokens_per_s.median / first, 2),
      bandwidth(row),
      percent(row.share),
      row.same_ids ? 'yes' : 'NO',
      number(theirs(row.threads), 2),
      number((theirs(row.threads) ?? NaN) / (theirs(1) ?? NaN), 2),
    ]),
  );
}

function prefill(rows: NonNullable<Tables['prefill']>): string {
  return markdownTable(
    ['tokens, INT8', 'threads', 'tok/s', 'read GB/s', 'paper: tok/s'],
    rows.map((row) => [
      String(row.tokens),
      String(row.threads),
      withRange(row.tokens_per_s),
      bandwidth(row),
      row.tokens === 512 ? number(paper.prefill512[row.threads], 2) : '–',
    ]),
  );
}

function layout(rows: NonNullable<Tables['layout']>): string {
  const titles = { column: 'all column-major', row: 'all row-major', mixed: 'mixed' } as const;
  return markdownTable(
    ['FP32, 1 thread', 'tok/s', 'read GB/s', 'share of it', 'paper: tok/s'],
    rows.map((row) => [
      titles[row.layout],
      withRange(row.tokens_per_s),
      bandwidth(row),
      percent(row.share),
      number(paper.layout[row.layout], 1),
    ]),
  );
}

function numerics(rows: NonNullable<Tables['numerics']>): string[] {
  const table = markdownTable(
    ['weights', 'activations', 'tok/s, 1 thread', 'logits: mean abs', 'max abs', 'top-1', 'greedy ids equal', 'perplexity', 'against f32'],
    rows.map((row) => {
      const f32 = rows.find((other) => other.weights === row.weights && other.activations === 'f32');
      const change = row.perplexity.perplexity / (f32?.perplexity.perplexity ?? NaN) - 1;
      return [
        names[row.weights],
        row.activations,
        withRange(row.tokens_per_s),
        row.logits.mean_abs.toExponential(2),
        row.logits.max_abs.toExponential(2),
        percent(row.logits.top1),
        `${row.logits.greedy_equal} of ${row.logits.greedy_tokens}`,
        number(row.perplexity.perplexity, 4),
        `${change < 0 ? '−' : '+'}${(100 * Math.abs(change)).toFixed(4)} %`,
      ];
    }),
  ); // prettier-ignore
  const { int8MeanAbs, int8MaxAbs, tokens, allowedMaxAbs } = paper.numerics;
  const positions = rows[0]?.logits.positions ?? 0;
  const text = `Each row against f32 activations over the same weights, ${positions} positions of the text. This table decides the default activations. Paper, against PyTorch: ${allowedMaxAbs} allowed, INT8 at ${tokens} tokens failed with mean ${int8MeanAbs}, max ${int8MaxAbs}.`;
  const golden = rows.flatMap(({ weights, activations, golden: found }) =>
    found === undefined
      ? []
      : [[names[weights], activations, String(found.positions), found.mean_abs.toExponential(2), found.max_abs.toExponential(2), percent(found.top1)]],
  ); // prettier-ignore
  if (golden.length === 0) return [text, table];
  const head = ['weights', 'activations', 'positions', 'mean abs', 'max abs', 'top-1'];
  return [text, table, 'Against the FP32 logits that the reference recorded:', markdownTable(head, golden)];
}

function perplexity(rows: NonNullable<Tables['perplexity']>): string {
  const table = markdownTable(
    ['weights', 'perplexity', 'tokens scored', 'nats', 'masked mass'],
    rows.map((row) => [
      names[row.weights],
      number(row.perplexity, 4),
      String(row.tokens_scored),
      number(row.nats, 3),
      row.masked_mass.toExponential(2),
    ]),
  );
  const { seq, stride } = rows[0] ?? { seq: 0, stride: 0 };
  return `Windows of ${seq}, stride ${stride}, f32 activations, no BOS. Paper: INT8 ${paper.perplexity.int8} on ${paper.perplexity.text}; comparable only on that text with that model.\n\n${table}`;
}

function head(rows: NonNullable<Tables['head']>): string {
  const table = markdownTable(
    ['scope', 'threshold', 'K', 'steps', 'triggered', 'rows', 'reduction', 'projection', 'prior', 'selection', 'verification', 'tok/s', 'full head tok/s', 'ids equal', 'paper: reduction'],
    rows.map((row) => [
      row.scope,
      String(row.threshold),
      String(row.k),
      String(row.steps),
      String(row.triggered),
      String(row.rows),
      `${number(row.reduction_percent, 3)} %`,
      percent(row.share.projection),
      percent(row.share.prior),
      percent(row.share.selection),
      percent(row.share.verification),
      withRange(row.tokens_per_s),
      withRange(row.baseline_tokens_per_s),
      row.ids_equal ? 'yes' : 'NO',
      row.scope === 'projection' ? `${number(paper.head.reduction[row.k], 3)} %` : '–',
    ]),
  ); // prettier-ignore
  const { steps, triggered, verificationPercent, projectionPercent } = paper.head;
  return `INT8, 1 thread, gate mode. Shares are of the head's time. reduction = 100 (1 − K/V), of the rows of one verification. Paper (${paper.headMachine}), scope projection: verification in ${triggered} of ${steps} steps, ${verificationPercent} % of the head's time, the first projection ${projectionPercent} %; all ids equal.\n\n${table}`;
}
