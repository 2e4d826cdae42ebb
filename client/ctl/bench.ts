import { Command } from 'commander';
import { neededCommands, type Loaders } from './needed.js';

const commands: Loaders = {
  bandwidth: async () => (await import('./bench/bandwidth.js')).bandwidthBench(),
  kernels: async () => (await import('./bench/kernels.js')).kernelsBench(),
  decode: async () => (await import('./bench/decode.js')).decodeBench(),
  prefill: async () => (await import('./bench/prefill.js')).prefillBench(),
  threads: async () => (await import('./bench/threads.js')).threadsBench(),
  roofline: async () => (await import('./bench/roofline.js')).rooflineBench(),
  head: async () => (await import('./bench/head.js')).headBench(),
  harness: async () => (await import('./bench/harness/command.js')).harnessBench(),
  paper: async () => (await import('./bench/paper/command.js')).paperBench(),
  measure: async () => (await import('./bench/paper/measure.js')).measureCommand(),
};

/** @param words  of the command line behind its own name */
export async function benchCommand(words: readonly string[]): Promise<Command> {
  const bench = new Command('bench').description('measure this machine, and what models reach of it');
  for (const command of await neededCommands(commands, words))
    bench.addCommand(command, { hidden: command.name() === 'measure' });
  return bench;
}
