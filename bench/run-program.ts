import { CommanderError, type Command } from 'commander';
import { describeError } from '../client/ctl/exit.js';

/** Runs what the command line asks for; an error becomes one line and an exit status, as spikectl's do. */
export async function runProgram(program: Command): Promise<void> {
  try {
    await program
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
      .parseAsync();
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    const { line, status } = describeError(error);
    process.stderr.write(`${line.replace(/^spikectl: /, '')}\n`);
    process.exitCode = status;
  }
}
