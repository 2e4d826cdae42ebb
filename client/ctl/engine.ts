import { availableParallelism } from 'node:os';
import { Option, type Command } from 'commander';
import { addon } from '../../native/host/index.js';
import type { Activations, NativeEngine, NativeModel, NativeSession } from '../../native/host/index.js';
import { integer } from './options.js';

export interface EngineOptions {
  threads: number;
  activations?: Activations;
}

/** Adds `--threads` with the machine's own count as the default. */
export function withThreads(command: Command): Command {
  return command.option(
    '--threads <n>',
    'threads that compute',
    integer(1, 256),
    Math.min(256, availableParallelism()),
  );
}

/** Adds `--activations`: what the blocks' dense products take. */
export function withActivations(command: Command): Command {
  return command.addOption(
    new Option(
      '--activations <precision>',
      "of the blocks' dense products: f32 is the reference; i16 and i8 are faster, inexact, and need quantised weights",
    )
      .choices(['f32', 'i16', 'i8'])
      .default('f32'),
  );
}

/** Opens the engine and a model for one command, and closes both whatever happens. */
export async function useModel<T>(
  path: string,
  options: EngineOptions,
  use: (model: NativeModel, engine: NativeEngine) => Promise<T>,
): Promise<T> {
  const engine = addon().openEngine({ threads: options.threads, activations: options.activations });
  try {
    const model = await engine.openModel(path);
    try {
      return await use(model, engine);
    } finally {
      model.close();
    }
  } finally {
    engine.close();
  }
}

export async function useSession<T>(
  model: NativeModel,
  use: (session: NativeSession) => Promise<T>,
): Promise<T> {
  const session = model.openSession();
  try {
    return await use(session);
  } finally {
    session.close();
  }
}
