import { cpus } from 'node:os';
import { Command } from 'commander';
import { OutputFile } from '../../../export/output-file.js';
import type { NativeModel, NativeSession, Spread } from '../../../native/host/index.js';
import { printJson, printLine } from '../output.js';
import { withBar } from './bar.js';
import { spreadFields, threadsText } from './facts.js';
import { rooflinePicture, type RooflineData } from './roofline/picture.js';
import type { RoofPoint } from './roofline/roof.js';
import { sweep, sweepSteps, type Sweep, type SweepOptions } from './sweep.js';
import { sweepLines, withSweep } from './threads.js';
import { decodeTimeShares, prefillTimeShares, type TimeShares } from './time-shares.js';
import { denseMacs, headMacs, type BytesByClass } from './work.js';

interface RooflineOptions extends SweepOptions {
  output: string;
  json?: true;
}

export function rooflineBench(): Command {
  const command = new Command('roofline')
    .description('one picture: bandwidth and arithmetic peak as a roof, decode and prefill under it, what time and bytes go to')
    .argument('<model>', 'model file (GGUF)')
    .requiredOption('-o, --output <file>', 'SVG file to write')
    .option('--json', 'what was measured: the lines of bench threads, then one of the shares')
    .addHelpText(
      'after',
      `
Measures as bench threads does. A point's place is the multiply-adds of dense products and head that a byte allows, its height how many were done a second; its number is the number of
threads. Under the sloping part of a roof memory is the limit, under the flat part arithmetic. Use a machine with nothing else to do.`,
    )
    .action(roofline); // prettier-ignore
  return withSweep(command);
}

type Kinds<T> = Record<'decode' | 'prefill', T>;
type Found = Sweep & { more: Kinds<TimeShares> };

async function roofline(path: string, options: RooflineOptions): Promise<void> {
  // The file is begun first: a place where none can be written is told before minutes of measuring.
  const timeShares = async (session: NativeSession, model: NativeModel): Promise<Kinds<TimeShares>> => ({
    decode: await decodeTimeShares(session, model, options.tokens),
    prefill: await prefillTimeShares(session, model, options.promptTokens),
  });
  const found = await OutputFile.write(options.output, async (file) => {
    const measured = await withBar(sweepSteps(options), (bar) =>
      sweep(path, options, bar, timeShares, file.cancelled),
    );
    await file.writeAt(Buffer.from(rooflinePicture(dataOf(measured))), 0);
    return measured;
  });
  if (!options.json) return printLine(options.output);
  for (const line of sweepLines(found, options)) await printJson(line);
  await printJson({
    bench: 'roofline',
    output: options.output,
    points: pointLines(found),
    time_shares: found.more,
    bytes_by_class: bytesOf(found),
  });
}

function dataOf(found: Found): RooflineData {
  const { info, points } = found;
  const [{ engine, peakInstructions }] = points;
  const cpu = cpus()[0]?.model.trim() ?? 'unknown CPU';
  return {
    title: `What ${info.name || 'the model'} reaches of the machine`,
    subtitle: `${cpu}, ${engine.isa}; ${info.weights} weights, ${engine.activations} activations; peak of ${peakInstructions ?? 'unknown instructions'}`,
    roofs: points.map(({ engine: { threads }, readGbPerS, peakGmacPerS }) => ({
      threads,
      gbPerS: readGbPerS.median,
      peakGmacPerS: peakGmacPerS?.median ?? null,
    })),
    points: pointsOf(found),
    parts: [
      {
        title: `What time goes to, ${threadsText(points.length)}`,
        rows: Object.entries(found.more).map(([label, parts]) => ({ label, parts })),
      },
      {
        title: 'Bytes that a token has to read',
        rows: Object.entries(bytesOf(found)).map(([kind, parts]) => ({
          label: `${kind}, ${megabytes(parts)} MB`,
          parts: { ...parts },
        })),
      },
    ],
  };
}

function pointsOf({ info, points }: Sweep): RoofPoint[] {
  const decodeMacs = denseMacs(info) + headMacs(info);
  return points.flatMap(({ engine: { threads }, decode, prefill, decodeRound, prefillRound }) => {
    // The head runs once for the whole prompt.
    const prefillMacs = denseMacs(info) + headMacs(info) / prefillRound.tokens;
    return [
      {
        kind: 'decode' as const,
        threads,
        macsPerByte: decodeMacs / decodeRound.bytesPerToken,
        gmacPerS: times(decode, decodeMacs / 1e9),
      },
      {
        kind: 'prefill' as const,
        threads,
        macsPerByte: prefillMacs / prefillRound.bytesPerToken,
        gmacPerS: times(prefill, prefillMacs / 1e9),
      },
    ];
  });
}

const times = ({ median, min, max }: Spread, factor: number): Spread => ({
  median: median * factor,
  min: min * factor,
  max: max * factor,
});

function pointLines(found: Sweep) {
  return pointsOf(found).map(({ kind, threads, macsPerByte, gmacPerS }) => ({
    kind,
    threads,
    macs_per_byte: macsPerByte,
    ...spreadFields('gmac_per_s', gmacPerS),
  }));
}

/** Of decode and prefill; the same at every number of threads. */
function bytesOf({ points: [{ decodeRound, prefillRound }] }: Sweep): Kinds<BytesByClass> {
  return { decode: decodeRound.bytesByClass, prefill: prefillRound.bytesByClass };
}

function megabytes(parts: BytesByClass): string {
  return (Object.values(parts).reduce((sum: number, bytes: number) => sum + bytes, 0) / 1e6).toFixed(1);
}
