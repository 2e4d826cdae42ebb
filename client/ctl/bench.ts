import { Command } from 'commander';
import { decodeBench } from './bench/decode.js';
import { headBench } from './bench/head.js';
import { paperBench } from './bench/paper/command.js';
import { measureCommand } from './bench/paper/measure.js';

export function benchCommand(): Command {
  return new Command('bench')
    .description('measure this machine with a model')
    .addCommand(decodeBench())
    .addCommand(headBench())
    .addCommand(paperBench())
    .addCommand(measureCommand(), { hidden: true });
}
