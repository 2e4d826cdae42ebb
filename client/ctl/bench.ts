import { Command } from 'commander';
import { decodeBench } from './bench/decode.js';

export function benchCommand(): Command {
  return new Command('bench').description('measure this machine with a model').addCommand(decodeBench());
}
