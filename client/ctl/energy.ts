import { Command } from 'commander';
import { analyzeCommand } from './energy/analyze.js';
import { calibrateCommand } from './energy/calibrate.js';
import { doctorCommand } from './energy/doctor.js';
import { importCommand } from './energy/import.js';
import { recordCommand } from './energy/record.js';
import { reportCommand } from './energy/report.js';
import { energyRunCommand } from './energy/run.js';

export function energyCommand(): Command {
  return new Command('energy')
    .description('joules per token from a wall meter: check it, record it, run experiments, report them')
    .addCommand(doctorCommand())
    .addCommand(recordCommand())
    .addCommand(importCommand())
    .addCommand(energyRunCommand())
    .addCommand(analyzeCommand())
    .addCommand(reportCommand())
    .addCommand(calibrateCommand());
}
