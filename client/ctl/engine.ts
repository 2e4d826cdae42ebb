import { Option, type Command } from 'commander';
import { addon, defaultThreads } from '../../native/host/index.js';
import type {
  Activations,
  EngineOptions as NativeEngineOptions,
  NativeEngine,
  NativeModel,
  NativeSession,
} from '../../native/host/index.js';
import { integer } from './options.js';

/** Where an engine computes, and how its weights come into memory; the options of withEngine. */
export interface PlaceOptions {
  threads: number;
  cpus?: string | undefined;
  prefault?: true | undefined;
  hugePages?: true | undefined;
  /** Of ternary models, as the three that follow. */
  context?: number | undefined;
  kv?: NativeEngineOptions['kv'];
  memory?: NativeEngineOptions['memory'];
  contract?: NativeEngineOptions['contract'];
}

export interface EngineOptions extends PlaceOptions {
  activations?: Activations | undefined;
  headBits?: NativeEngineOptions['headBits'];
}

/** Adds `--threads`; its default is found when the command runs, as looking at the machine needs the addon. */
export function withThreads(command: Command, meaning = 'threads that compute'): Command {
  return command
    .option(
      '--threads <n>',
      `${meaning} (default: one for each big core, or for each CPU of a list)`,
      integer(1, 256),
    )
    .hook('preAction', (_, action) => {
      if (action.getOptionValue('threads') !== undefined) return;
      const cpus = action.getOptionValue('cpus') as string | undefined;
      action.setOptionValueWithSource('threads', defaultThreads(cpus), 'default');
    });
}

/** Adds what every command with an engine of its own takes: where it computes, how weights come into memory, and what ternary models can choose. */
export function withEngine(command: Command): Command {
  return withThreads(command)
    .option(
      '--cpus <list>',
      'CPUs of the threads, such as 4-7, or none to leave them to the system (default: the big cores, where cores differ)',
    )
    .option('--prefault', 'read the whole model into memory first')
    .option('--huge-pages', 'copy the model into memory of huge pages')
    .option(
      '--context <n>',
      "ternary models: positions that a sequence has room for (default: the model's)",
      integer(1, 1 << 20),
    )
    .addOption(
      new Option(
        '--kv <precision>',
        'ternary models: how keys and values are kept (default: f32); f16 halves them, and is another model than f32',
      ).choices(['f32', 'f16']),
    )
    .addOption(
      new Option(
        '--memory <mode>',
        'ternary models: low keeps no F16 table in memory and reads its rows from the file, with the same bits (default: normal)',
      ).choices(['normal', 'low']),
    )
    .addOption(
      new Option(
        '--contract <rule>',
        'ternary models: how activations are rounded (default: bitnet, as the model was trained)',
      ).choices(['bitnet', 'hyphae']),
    );
}

/** The options of an engine that computes where these say. */
export function engineOf(options: PlaceOptions): NativeEngineOptions {
  const { threads, cpus, prefault, hugePages, context, kv, memory, contract } = options;
  const loading = hugePages ? 'huge_pages' : prefault ? 'prefault' : 'readahead';
  return { threads, cpus, loading, context, kv, memory, contract };
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
  const { activations, headBits } = options;
  const engine = addon().openEngine({ ...engineOf(options), activations, headBits });
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
