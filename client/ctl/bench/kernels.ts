import { Command, InvalidArgumentError } from 'commander';
import { addon } from '../../../native/host/index.js';
import type { KernelRate } from '../../../native/host/index.js';
import { withThreads } from '../engine.js';
import { usage } from '../exit.js';
import { integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { withBar } from './bar.js';
import { machineFacts, percent, shown } from './facts.js';
import { roomyBytes } from './limits.js';

interface KernelOptions {
  threads: number;
  isa?: string;
  size?: number;
  rounds: number;
  only?: string[];
  json?: true;
}

const mib = 2 ** 20;

export function kernelsBench(): Command {
  const command = new Command('kernels')
    .description('what each memory-bound kernel reads and multiplies a second, beside what the machine can do')
    .option('--isa <name>', 'instruction set (default: the one in use, see spikectl version)')
    .option('--size <MiB>', 'weights of one kernel (default: 1024, or half of the free memory)', integer(1, 2 ** 20))
    .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 7)
    .option('--only <kernels>', 'some of them, by name, separated by commas', names)
    .option('--json', 'one JSON object a line, one line a kernel')
    .addHelpText(
      'after',
      `
Each round reads the weights plainly, runs the kernel for one token, and reads again, with the same threads: share is the kernel's
part of the plain read. A product is also run for a batch over weights that fit a cache, in turn with the multiply-adds that it is made
of, on registers alone: peak_share is its part of that; null for an instruction set without a known peak. Seconds are those that each thread ran, so
that other processes do not count; they still share the bus: trust the shares before the GB/s.`,
    )
    .action(run); // prettier-ignore
  return withThreads(command);
}

/** Parser for commander: `matmul_i8_i8,column_sum_i8`. */
function names(text: string): string[] {
  const found = text.split(',').map((name) => name.trim());
  if (found.includes('')) throw new InvalidArgumentError('expected names of kernels separated by commas');
  return found;
}

async function run(options: KernelOptions): Promise<void> {
  const native = addon();
  const known = native.measuredKernels();
  const unknown = options.only?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw usage(`--only: expected some of ${known.join(', ')}, found "${unknown}"`);
  const isa = options.isa ?? isaInUse();
  const sizeBytes = options.size === undefined ? roomyBytes() : options.size * mib;
  const kernels = known.filter((name) => options.only?.includes(name) ?? true);
  const rows: string[][] = [];
  await withBar(kernels.length, async (bar) => {
    for (const kernel of kernels) {
      bar.step(kernel);
      const rate = await native.measureKernel(isa, kernel, options.threads, sizeBytes, options.rounds);
      if (options.json)
        await printJson({
          bench: 'kernels',
          kernel,
          isa,
          threads: options.threads,
          rounds: options.rounds,
          size_bytes: sizeBytes,
          ...fields(rate),
          ...machineFacts(),
        });
      else rows.push(row(kernel, rate));
    }
  });
  if (options.json) return;
  await printLine(
    table([
      ['kernel', 'GB/s', 'of a plain read', 'GMAC/s', 'of the peak', 'peak of'],
      ...rows,
    ]),
  ); // prettier-ignore
}

/** Opening an engine is what chooses the instruction set, SPIKED_FORCE_ISA included. */
function isaInUse(): string {
  const engine = addon().openEngine({ threads: 1 });
  try {
    return engine.isa;
  } finally {
    engine.close();
  }
}

function fields({ read, batch }: KernelRate) {
  return {
    bytes: read.bytes,
    gb_per_s: read.gbPerS,
    read_gb_per_s: read.readGbPerS,
    share: read.share,
    batch_tokens: batch?.tokens ?? null,
    batch_macs: batch?.macs ?? null,
    gmac_per_s: batch?.gmacPerS ?? null,
    peak_gmac_per_s: batch?.peak?.gmacPerS ?? null,
    peak_share: batch?.peak?.share ?? null,
    peak_instructions: batch?.peak?.instructions ?? null,
  };
}

function row(kernel: string, { read, batch }: KernelRate): string[] {
  const own = [kernel, shown(read.gbPerS, 1), percent(read.share.median)];
  if (batch === null) return own;
  const peak =
    batch.peak === null ? ['unknown', ''] : [percent(batch.peak.share.median), batch.peak.instructions];
  return [...own, shown(batch.gmacPerS, 1), ...peak];
}
