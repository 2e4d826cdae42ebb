import type { Spread } from '../stats.js';
import type { Tables } from './tables.js';
import { barChart } from '../charts/bars.js';
import { lineChart } from '../charts/lines.js';
import { shareChart } from '../charts/shares.js';

const formatNames = { f32: 'FP32', int8: 'INT8', int4mix: 'INT4mix' } as const;
const exactly = (value: number): Spread => ({ median: value, min: value, max: value });

/** The charts that the tables have data for: SVG text by file name. */
export function chartsOf(tables: Tables, subtitle: string): Map<string, string> {
  const charts = new Map<string, string>();
  const { precision, threads, prefill, layout, head } = tables;
  if (precision)
    charts.set(
      'formats.svg',
      barChart('Weight formats: speed and size, 1 thread', subtitle, 'weights', precision.map(({ weights }) => formatNames[weights]), [
        { yName: 'decode, tokens/s', values: precision.map((row) => row.tokens_per_s), digits: 1 },
        { yName: 'weights, MiB', values: precision.map((row) => exactly(row.weights_mib)), digits: 1 },
      ]),
    ); // prettier-ignore
  if (threads)
    charts.set(
      'threads.svg',
      lineChart('Decode by threads, INT8', subtitle, ['threads', 'decode, tokens/s'], threads.map((row) => String(row.threads)), [
        { name: 'median and range', values: threads.map((row) => row.tokens_per_s) },
      ]),
    ); // prettier-ignore
  if (prefill) charts.set('prefill.svg', prefillChart(prefill, subtitle));
  if (layout)
    charts.set(
      'layout.svg',
      barChart('Layout of FP32 weights, 1 thread', subtitle, 'layout', layout.map((row) => layoutNames[row.layout]), [
        { yName: 'decode, tokens/s', values: layout.map((row) => row.tokens_per_s), digits: 2 },
      ]),
    ); // prettier-ignore
  if (head)
    charts.set(
      'head.svg',
      shareChart(
        "What the gated head's time goes to",
        subtitle,
        'share of head time',
        ['projection', 'prior', 'selection', 'verification'],
        head.map(({ scope, k, share }) => ({ label: `${scope}, K = ${k}`, share })),
      ),
    );
  return charts;
}

const layoutNames = { column: 'all column-major', row: 'all row-major', mixed: 'mixed' } as const;

function prefillChart(rows: NonNullable<Tables['prefill']>, subtitle: string): string {
  const lengths = [...new Set(rows.map(({ tokens }) => tokens))];
  const counts = [...new Set(rows.map(({ threads }) => threads))];
  const series = counts.map((threads) => ({
    name: threads === 1 ? '1 thread' : `${threads} threads`,
    values: lengths.map(
      (tokens) => rows.find((row) => row.threads === threads && row.tokens === tokens)?.tokens_per_s,
    ),
  }));
  return lineChart(
    'Prefill, INT8',
    subtitle,
    ['tokens of the prompt', 'prefill, tokens/s'],
    lengths.map(String),
    series,
  );
}
