import { Command } from 'commander';
import { neededCommands, type Loaders } from './needed.js';

const commands: Loaders = {
  doctor: async () => (await import('./energy/doctor.js')).doctorCommand(),
  record: async () => (await import('./energy/record.js')).recordCommand(),
  import: async () => (await import('./energy/import.js')).importCommand(),
  run: async () => (await import('./energy/run.js')).energyRunCommand(),
  analyze: async () => (await import('./energy/analyze.js')).analyzeCommand(),
  report: async () => (await import('./energy/report.js')).reportCommand(),
  calibrate: async () => (await import('./energy/calibrate.js')).calibrateCommand(),
};

/** @param words  of the command line behind its own name */
export async function energyCommand(words: readonly string[]): Promise<Command> {
  const energy = new Command('energy').description(
    'joules per token from a wall meter: check it, record it, run experiments, report them',
  );
  for (const command of await neededCommands(commands, words)) energy.addCommand(command);
  return energy;
}
