import { Command } from 'commander';
import { benchCommand } from './bench.js';
import { checkCommand } from './check.js';
import { compareCommand } from './compare.js';
import { doctorCommand } from './doctor.js';
import { energyCommand } from './energy.js';
import { evalCommand } from './eval.js';
import { exportCommand } from './export.js';
import { inspectCommand } from './inspect.js';
import { logitsCommand } from './logits.js';
import { meterCommand } from './meter.js';
import { metricsCommand } from './metrics.js';
import { modelsCommand } from './models.js';
import { runCommand } from './run.js';
import { serviceCommand } from './service.js';
import { statusCommand } from './status.js';
import { synthCommand } from './synth.js';
import { tokensCommand } from './tokens.js';
import { topCommand } from './top.js';
import { versionCommand } from './version.js';

/** The whole command line. Mistakes are thrown (CommanderError), never printed or exited on. */
export function createProgram(): Command {
  const program = new Command('spikectl')
    .description('Talks to the spiked daemon, and prepares, checks and measures its models.')
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 failure, 2 usage, 3 check failed, 4 no daemon, 130 interrupted.',
    );
  const commands = [
    runCommand(),
    statusCommand(),
    modelsCommand(),
    topCommand(),
    metricsCommand(),
    doctorCommand(),
    versionCommand(),
    exportCommand(),
    inspectCommand(),
    checkCommand(),
    tokensCommand(),
    logitsCommand(),
    compareCommand(),
    synthCommand(),
    evalCommand(),
    benchCommand(),
    energyCommand(),
    meterCommand(),
    serviceCommand(),
  ];
  for (const command of commands) program.addCommand(inherit(command, program));
  return program;
}

function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}
