import { Command } from 'commander';
import { bandwidthBench } from './bench/bandwidth.js';
import { decodeBench } from './bench/decode.js';
import { headBench } from './bench/head.js';
import { kernelsBench } from './bench/kernels.js';
import { paperBench } from './bench/paper/command.js';
import { measureCommand } from './bench/paper/measure.js';
import { prefillBench } from './bench/prefill.js';
import { rooflineBench } from './bench/roofline.js';
import { threadsBench } from './bench/threads.js';

export function benchCommand(): Command {
  return new Command('bench')
    .description('measure this machine, and what models reach of it')
    .addCommand(bandwidthBench())
    .addCommand(kernelsBench())
    .addCommand(decodeBench())
    .addCommand(prefillBench())
    .addCommand(threadsBench())
    .addCommand(rooflineBench())
    .addCommand(headBench())
    .addCommand(paperBench())
    .addCommand(measureCommand(), { hidden: true });
}
