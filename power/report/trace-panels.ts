import { join } from 'node:path';
import type { Rule } from '../meters/meter.js';
import { openTrace } from '../trace/reader.js';
import { collectTokens } from '../trace/tokens.js';
import { faultOf } from '../window/usable.js';
import type { BlockResult, IdleResult, PartResult, Result, RunResult } from './result.js';
import { traceFolder } from './folder.js';
import { Thinner, type TracePoint } from './thin.js';

/** A stretch of one part's trace as a picture needs it. */
export interface TracePanel {
  readonly title: string;
  readonly fromNs: bigint;
  readonly toNs: bigint;
  readonly points: readonly TracePoint[];
  /** Times of tokens in seconds from the start, at most one for two columns; none in a panel of a whole part. */
  readonly tokens: readonly number[];
  readonly runs: readonly RunResult[];
  readonly idles: readonly IdleResult[];
  readonly rule: Rule;
}

/** Blocks that are drawn: more would make a picture that nobody scrolls through. */
export const mostBlocks = 24;

/** Every part whole, then the first blocks as they were tried, each thinned to so many columns. Reads the traces as streams. */
export async function tracePanels(dir: string, result: Result, columns: number): Promise<TracePanel[]> {
  const panels: TracePanel[] = [];
  for (const part of result.parts) {
    const runs = result.runs.filter((run) => run.part === part.part);
    const idles = result.idles.filter((idle) => idle.part === part.part);
    const windows = [...runs, ...idles];
    if (windows.length === 0) continue;
    const start = result.parts.length === 1 ? 'The whole experiment' : `Part ${part.part}, begun ${part.at}`;
    panels.push(await panel(dir, part, start, extent(windows), [runs, idles, []], columns));
  }
  for (const block of result.blocks.slice(0, mostBlocks)) {
    const part = result.parts.find((one) => one.part === block.part);
    const runs = runsOf(result, block);
    if (part === undefined || runs.length === 0) continue;
    const again = block.attempt > 1 ? `, attempt ${block.attempt}` : '';
    const counts = block.used ? '' : ', does not count';
    const title = `Block ${block.block}${again}: ${runs.map(({ arm }) => arm).join(' – ')}${counts}`;
    panels.push(await panel(dir, part, title, extent(runs), [runs, [], await tokensOf(dir, runs)], columns));
  }
  return panels;
}

function runsOf({ runs }: Result, { block, attempt }: BlockResult): RunResult[] {
  return runs.filter((run) => run.block === block && run.attempt === attempt);
}

interface Extent {
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

/** All windows with a fortieth of their length on both sides. */
function extent(windows: readonly { from_ns: string; to_ns: string }[]): Extent {
  const [from, to] = windows.reduce<[bigint, bigint]>(
    ([least, most], { from_ns: a, to_ns: b }) => [
      BigInt(a) < least ? BigInt(a) : least,
      BigInt(b) > most ? BigInt(b) : most,
    ],
    [1n << 63n, 0n],
  );
  const edge = (to - from) / 40n + 1n;
  return { fromNs: from > edge ? from - edge : 0n, toNs: to + edge };
}

async function tokensOf(dir: string, runs: readonly RunResult[]): Promise<bigint[]> {
  const marks: bigint[] = [];
  for (const { marks: file } of runs) marks.push(...(await collectTokens(join(dir, file))));
  return marks;
}

async function panel(
  dir: string,
  part: PartResult,
  title: string,
  { fromNs, toNs }: Extent,
  [runs, idles, marks]: [readonly RunResult[], readonly IdleResult[], readonly bigint[]],
  columns: number,
): Promise<TracePanel> {
  const thinner = new Thinner(fromNs, toNs, columns, 2.5e9 * part.update_period_s);
  const trace = await openTrace(traceFolder(dir, part.part));
  for await (const sample of trace.samples(fromNs, toNs))
    thinner.add(sample, faultOf(sample, trace.header.traits) === null);
  return {
    title,
    fromNs,
    toNs,
    points: thinner.points(),
    tokens: spaced(marks.map((mark) => Number(mark - fromNs) / 1e9), Number(toNs - fromNs) / 1e9 / columns * 2), // prettier-ignore
    runs,
    idles,
    rule: part.rule,
  };
}

/** Those that are at least so far from the one kept before. */
function spaced(times: readonly number[], least: number): number[] {
  const kept: number[] = [];
  for (const time of times) if (time - (kept.at(-1) ?? -Infinity) >= least) kept.push(time);
  return kept;
}
