import { Command } from 'commander';
<<<<<<< HEAD
import { analyzeCommand } from './energy/analyze.js';
import { reportCommand } from './energy/report.js';

export function energyCommand(): Command {
  return new Command('energy')
    .description('joules per token, from a wall meter')
    .addCommand(analyzeCommand())
    .addCommand(reportCommand());
=======
import { energyRunCommand } from './energy/run.js';

export function energyCommand(): Command {
  return new Command('energy')
    .description('joules per token from a wall meter')
    .addCommand(energyRunCommand());
>>>>>>> e78da00 (spikectl energy run: carries a plan out, tries it (--dry-run), goes on after the last whole block (--resume))
}
