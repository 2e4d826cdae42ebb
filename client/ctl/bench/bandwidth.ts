import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { addon } from '../../../native/host/index.js';
import { integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { withBar } from './bar.js';
import { machineFacts, shown, spreadFields, threadsText } from './facts.js';
import { checkThreads, roomyBytes } from './limits.js';
import { everyCount, interleave, spreadOf } from './stats.js';

interface BandwidthOptions {
  threads: number;
  rounds: number;
  size?: number;
  json?: true;
}

const passes = 3;
const mib = 2 ** 20;

export function bandwidthBench(): Command {
  return new Command('bandwidth')
    .description('what 1 to N threads read from memory a second')
    .option(
      '--threads <n>',
      'most threads; each has a CPU of its own',
      integer(1, 256),
      Math.min(256, availableParallelism()),
    )
    .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 5)
    .option('--size <MiB>', 'memory to read (default: 1024, or half of what is free)', integer(1, 2 ** 20))
    .option('--json', 'one JSON object a line, one line a number of threads')
    .addHelpText(
      'after',
      `
Threads pinned to a CPU each read memory that they have just written, in equal contiguous shares, ${passes} passes a round. In each
round every number of threads has its turn. GB are 1e9 bytes. Decode can be no faster than this divided by the bytes a token reads.`,
    )
    .action(run);
}

async function run(options: BandwidthOptions): Promise<void> {
  const sizeBytes = options.size === undefined ? roomyBytes() : options.size * mib;
  await checkThreads(options.threads);
  const counts = everyCount(options.threads);
  const found = new Map(counts.map((threads) => [threads, [] as number[]]));
  await withBar(counts.length * options.rounds, async (bar) => {
    for (const { setting: threads } of interleave(counts, options.rounds)) {
      bar.step(threadsText(threads));
      found.get(threads)?.push(await addon().readBandwidth(threads, sizeBytes, passes));
    }
  });
  const rows = counts.map((threads) => ({ threads, read: spreadOf(found.get(threads) ?? []) }));
  const alone = rows[0]?.read.median ?? NaN;
  if (!options.json)
    return printLine(
      table(
        [
          ['threads', 'GB/s', 'times one thread'],
          ...rows.map(({ threads, read }) => [
            String(threads),
            shown(read, 1),
            (read.median / alone).toFixed(2),
          ]),
        ],
        ['right'],
      ),
    );
  for (const { threads, read } of rows)
    await printJson({
      bench: 'bandwidth',
      threads,
      ...spreadFields('read_bandwidth_gb_s', read),
      speedup: read.median / alone,
      size_bytes: sizeBytes,
      rounds: options.rounds,
      ...machineFacts(),
    });
}
