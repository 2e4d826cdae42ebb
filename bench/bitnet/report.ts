import type { Spread } from '../../native/host/index.js';
import { spreadOf } from '../../client/ctl/bench/stats.js';
import type { Rates } from './ours.js';
import type { Memory } from './turn.js';

/** One turn of one contender. */
export interface Turn extends Rates, Memory {
  /** Of a plain read by as many threads just before and just after. */
  readGbPerS: number;
}

/** What a contender did in all rounds. */
export interface Contender {
  name: string;
  threads: number;
  turns: readonly Turn[];
}

const figures = {
  decode_tokens_per_s: (turn: Turn) => turn.decode,
  prefill_tokens_per_s: (turn: Turn) => turn.prefill,
  steady_rss_bytes: (turn: Turn) => turn.steadyBytes,
  steady_anon_bytes: (turn: Turn) => turn.steadyAnonBytes,
  peak_rss_bytes: (turn: Turn) => turn.peakBytes,
  read_bandwidth_share: (turn: Turn) => (turn.decode * turn.bytesPerToken) / (turn.readGbPerS * 1e9),
};
type Figure = keyof typeof figures;
type Figures = Record<Figure, Spread>;

export interface Row {
  name: string;
  threads: number;
  /** Null for the rival, which does not tell. */
  isa: string | null;
  bytes_per_token: number;
  read_bandwidth_gb_s: Spread;
  figures: Figures;
  /** Ours over the rival's, round by round; null for the rival itself. */
  ratios: Figures | null;
}

/** A contender beside the rival of as many threads; null: it is the rival. */
export function row(contender: Contender, rival: Contender | null): Row {
  const { name, threads, turns } = contender;
  const each = (of: (figure: (turn: Turn) => number) => number[]) =>
    Object.fromEntries(
      Object.entries(figures).map(([key, figure]) => [key, spreadOf(of(figure))]),
    ) as Figures;
  return {
    name,
    threads,
    isa: turns[0]?.isa ?? null,
    bytes_per_token: turns[0]?.bytesPerToken ?? 0,
    read_bandwidth_gb_s: spreadOf(turns.map(({ readGbPerS }) => readGbPerS)),
    figures: each((figure) => turns.map(figure)),
    ratios:
      rival &&
      each((figure) =>
        turns.flatMap((turn, i) => {
          const their = rival.turns[i];
          return their === undefined ? [] : [figure(turn) / figure(their)];
        }),
      ),
  };
}

const megabytes = 1e6;

/** One Markdown table: medians, ranges in brackets, and how many times the rival's in every second column. */
export function markdown(rows: readonly Row[]): string {
  const head = ['threads', 'engine', 'decode, tokens/s', '×', 'prefill, tokens/s', '×', 'steady RSS, MB', '×', 'peak RSS, MB', '×', 'share of read bandwidth']; // prettier-ignore
  const cells = rows.map(({ name, threads, figures, ratios }) => {
    const pair = (key: Figure, digits: number, unit = 1) => [
      shown(figures[key], digits, unit),
      ratios === null ? '' : shown(ratios[key], 2),
    ];
    return [
      String(threads),
      name,
      ...pair('decode_tokens_per_s', 2),
      ...pair('prefill_tokens_per_s', 1),
      ...pair('steady_rss_bytes', 0, megabytes),
      ...pair('peak_rss_bytes', 0, megabytes),
      shown(figures.read_bandwidth_share, 2),
    ];
  });
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function shown({ median, min, max }: Spread, digits: number, unit = 1): string {
  const text = (value: number) => (value / unit).toFixed(digits);
  return text(min) === text(max) ? text(median) : `${text(median)} (${text(min)}–${text(max)})`;
}
