import { Command } from 'commander';
import { neededCommands, type Loaders } from './needed.js';

const commands: Loaders = {
  run: async () => (await import('./run.js')).runCommand(),
  chat: async () => (await import('./chat.js')).chatCommand(),
  status: async () => (await import('./status.js')).statusCommand(),
  models: async () => (await import('./models.js')).modelsCommand(),
  top: async () => (await import('./top.js')).topCommand(),
  metrics: async () => (await import('./metrics.js')).metricsCommand(),
  doctor: async () => (await import('./doctor.js')).doctorCommand(),
  version: async () => (await import('./version.js')).versionCommand(),
  export: async () => (await import('./export.js')).exportCommand(),
  inspect: async () => (await import('./inspect.js')).inspectCommand(),
  check: async () => (await import('./check.js')).checkCommand(),
  tokens: async () => (await import('./tokens.js')).tokensCommand(),
  logits: async () => (await import('./logits.js')).logitsCommand(),
  compare: async () => (await import('./compare.js')).compareCommand(),
  synth: async () => (await import('./synth.js')).synthCommand(),
  eval: async () => (await import('./eval.js')).evalCommand(),
  bench: async (words) => (await import('./bench.js')).benchCommand(words),
  energy: async (words) => (await import('./energy.js')).energyCommand(words),
  meter: async () => (await import('./meter.js')).meterCommand(),
  service: async () => (await import('./service.js')).serviceCommand(),
};

/**
 * The command line, as far as `args` need it (needed.ts); all of it without any. Mistakes are thrown (CommanderError), never printed or
 * exited on.
 */
export async function createProgram(args: readonly string[] = []): Promise<Command> {
  const program = new Command('spikectl')
    .description('Talks to the spiked daemon, and prepares, checks and measures its models.')
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 failure, 2 usage, 3 check failed, 4 no daemon, 130 interrupted.',
    );
  const words = args.filter((word) => !word.startsWith('-'));
  for (const command of await neededCommands(commands, words)) program.addCommand(inherit(command, program));
  return program;
}

function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}
