import { Command } from 'commander';
import { analyzeCommand } from './energy/analyze.js';
import { reportCommand } from './energy/report.js';

export function energyCommand(): Command {
  return new Command('energy')
    .description('joules per token, from a wall meter')
    .addCommand(analyzeCommand())
    .addCommand(reportCommand());
}
