import { SpikedError } from '../client/protocol/index.js';
import {
  addon as loadAddon,
  cpusInUse,
  defaultThreads,
  type Addon,
  type NativeEngine,
} from '../native/host/index.js';
import { readConfig, type Config, type DaemonOptions } from './config.js';
import { openLog, type Logger } from './log.js';
import { MachineWatch } from './machine/watch.js';
import { Counts } from './metrics/counts.js';
import { ModelFiles } from './models/files.js';
import { openModelTokenizer } from './models/open-tokenizer.js';
import { ModelRegistry } from './models/registry.js';
import { Scheduler } from './queue/scheduler.js';
import { Connections } from './rpc/connections.js';
import { listen, type Listening } from './rpc/listen.js';
import { probe } from './rpc/probe.js';
import type { DaemonState } from './state.js';

export interface Daemon {
  /** The socket's path. */
  readonly address: string;
  readonly state: DaemonState;
  /** Takes no new work, lets running requests finish for drainMs, cancels the rest, ends every connection, removes the socket. */
  close(): Promise<void>;
}

/**
 * A daemon that accepts connections. `abort` ends a start that takes long.
 *
 * @throws SpikedError ERR_CONFIG_INVALID, ERR_SOCKET_IN_USE, ERR_SOCKET_PATH, ERR_FILE_NOT_FOUND, and what model.load throws
 */
export async function startDaemon(options: DaemonOptions, abort?: AbortSignal): Promise<Daemon> {
  const config = readConfig(options);
  const addon = loadAddon();
  const log = openLog(config.logLevel, (fd, waitMs) => addon.writable(fd, waitMs));
  // Loading can take long: a path that is taken is told first.
  await probe(config.socketPath, (fd) => addon.peerCredentials(fd));
  const engine = addon.openEngine({
    threads: config.threads ?? defaultThreads(config.cpus),
    cpus: config.cpus,
    loading: config.loading,
    isa: config.isa,
    activations: config.activations,
    prefixCacheBytes: config.prefixCacheMib * 2 ** 20,
  });
  try {
    const state = await unlessAborted(openState(config, addon, engine, log), abort);
    const connections = new Connections(state);
    const listening = await listen(
      config.socketPath,
      (fd) => addon.peerCredentials(fd),
      (socket) => {
        connections.accept(socket);
      },
    );
    return serve(state, listening, connections);
  } catch (error) {
    engine.close();
    throw error;
  }
}

/** A model may load for minutes: its start is left, not awaited. */
function unlessAborted<T>(work: Promise<T>, abort: AbortSignal | undefined): Promise<T> {
  if (!abort) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      reject(new SpikedError('ERR_CANCELLED', 'the start was stopped'));
    };
    if (abort.aborted) stop();
    abort.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject);
  });
}

async function openState(
  config: Config,
  addon: Addon,
  engine: NativeEngine,
  log: Logger,
): Promise<DaemonState> {
  const files = await ModelFiles.open(config.models);
  const [first] = await files.list();
  if (!first)
    throw new SpikedError(
      'ERR_MODEL_NOT_FOUND',
      `--model ${config.models.join(', ')}: expected a .gguf file, found none`,
    );
  const models = new ModelRegistry(engine, files, first.name, config.contextTokens, (path, model) =>
    openModelTokenizer(path, model, config.limits.max_text_bytes),
  );
  for (const { path, name } of await files.initial()) {
    await models.load(path);
    log.info({ model: name, path }, 'model loaded');
  }
  const { max_active: maxActive, max_queue: maxQueue } = config.limits;
  const scheduler = new Scheduler({ maxActive, maxQueue });
  return {
    config,
    addon,
    engine,
    models,
    scheduler,
    generations: new Set(),
    counts: new Counts(),
    machine: new MachineWatch({
      cpus: cpusInUse(engine.cpus),
      log,
      busy: () => scheduler.activeCount > 0,
    }),
    log,
    startedNs: process.hrtime.bigint(),
    stopping: false,
  };
}

function serve(state: DaemonState, listening: Listening, connections: Connections): Daemon {
  state.log.info(
    { socket: listening.path, pid: process.pid, models: state.models.names, isa: state.engine.isa },
    'ready',
  );
  void state.machine.read();
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    state.stopping = true;
    state.log.info(
      { active: state.scheduler.activeCount, waiting: state.scheduler.waitingCount },
      'stopping',
    );
    await listening.close();
    await drain(state);
    await connections.end();
    state.machine.stop();
    await state.models.close();
    state.engine.close();
    state.log.info('stopped');
    state.log.flush();
  };
  return { address: listening.path, state, close: () => (closing ??= close()) };
}

async function drain({ scheduler, config }: DaemonState): Promise<void> {
  scheduler.cancelWaiting();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, config.drainMs)));
  await Promise.race([scheduler.whenIdle(), late]);
  clearTimeout(timer);
  scheduler.cancelAll();
  await scheduler.whenIdle();
}
