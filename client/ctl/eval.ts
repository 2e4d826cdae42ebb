import { Command } from 'commander';
import { perplexityCommand } from './eval/command.js';

export function evalCommand(): Command {
  return new Command('eval')
    .description('measure how well a model predicts a text')
    .addCommand(perplexityCommand());
}
