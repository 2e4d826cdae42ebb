import type net from 'node:net';
import { describePath, SpikedError, type NamePath } from '../client/protocol/index.js';
import {
  type Addon,
  addon as loadAddon,
  cpusInUse,
  defaultThreads,
  type NativeEngine,
  openModelTokenizer,
} from '../native/host/index.js';
import { readConfig, type Config, type DaemonOptions } from './config.js';
import { schedulerLimits } from './limits.js';
import { openLog, type Logger } from './log.js';
import { MachineWatch } from './machine/watch.js';
import { Counts } from './metrics/counts.js';
import { automaticBudget } from './memory/automatic-budget.js';
import { ModelFiles } from './models/files.js';
import { ModelRegistry } from './models/registry.js';
import { Scheduler } from './queue/scheduler.js';
import { Connections } from './rpc/connections.js';
import { reload } from './reload.js';
import { adopt, listen, type Listening } from './rpc/listen.js';
import { probe } from './rpc/probe.js';
import { selfTest } from './self-test.js';
import { noServiceManager, type ServiceManager } from './service/manager.js';
import { withPatience } from './service/patience.js';
import { startReports, statusOf } from './service/reports.js';
import { Sessions } from './sessions/sessions.js';
import type { DaemonState } from './state.js';

export interface Daemon {
  /** The socket's path. */
  readonly address: string;
  readonly state: DaemonState;
  /** Takes over what may change in a running daemon, and logs what needs a restart. @throws SpikedError; then nothing has changed */
  reload(options: DaemonOptions): void;
  /** Takes no new work, lets running requests finish for drainMs, cancels the rest, ends every connection, removes the socket. */
  close(): Promise<void>;
}

/**
 * A daemon that accepts connections.
 *
 * @param abort  ends a start that takes long
 * @param name   how messages call a setting
 * @throws SpikedError ERR_CONFIG_INVALID, ERR_SOCKET_IN_USE, ERR_SOCKET_PATH, ERR_FILE_NOT_FOUND, ERR_CHECK_FAILED, and what model.load throws
 */
export async function startDaemon(
  options: DaemonOptions,
  abort?: AbortSignal,
  manager: ServiceManager = noServiceManager,
  name: NamePath = describePath,
): Promise<Daemon> {
  const config = readConfig(options, name);
  const addon = loadAddon();
  const log = openLog(config.logLevel, (fd, waitMs) => addon.writable(fd, waitMs));
  const bind = await prepareSocket(config, addon, manager.socketFd, name(['socketGroup']));
  const engine = addon.openEngine({
    threads: config.threads ?? defaultThreads(config.cpus),
    cpus: config.cpus,
    loading: config.loading,
    isa: config.isa,
    activations: config.activations,
    context: config.contextTokens,
    kv: config.kv,
    memory: config.memory,
    contract: config.contract,
    headBits: config.headBits,
    prefixCacheBytes: config.prefixCacheMib * 2 ** 20,
    ramBudgetBytes: config.ramBudgetBytes ?? automaticBudget(),
  });
  try {
    const work = Promise.all([
      openState(config, addon, engine, log, manager, name(['models'])),
      config.selfTest ? selfTest(addon, engine.isa) : null,
    ]);
    const [state] = await unlessAborted(withPatience(manager, work), abort);
    const connections = new Connections(state);
    const listening = await bind((socket) => {
      connections.accept(socket);
    });
    return serve(state, listening, connections, manager);
  } catch (error) {
    engine.close();
    throw error;
  }
}

/**
 * Finds out what can be wrong with the socket before anything slow begins.
 *
 * @returns what begins to listen
 */
async function prepareSocket(
  { socketPath, socketMode, socketGroup }: Config,
  addon: Addon,
  activatedFd: number | undefined,
  groupSetting: string,
): Promise<(accept: (socket: net.Socket) => void) => Promise<Listening>> {
  if (activatedFd !== undefined) {
    const path = addon.listeningSocket(activatedFd);
    return (accept) => adopt(activatedFd, path, accept);
  }
  const group =
    socketGroup === undefined
      ? undefined
      : { gid: groupId(socketGroup, addon, groupSetting), setting: groupSetting };
  await probe(socketPath, (fd) => addon.peerCredentials(fd));
  const rules = { path: socketPath, mode: parseInt(socketMode, 8), group };
  return (accept) => listen(rules, addon, accept);
}

function groupId(group: string, addon: Addon, setting: string): number {
  const gid = /^\d+$/.test(group) ? Number(group) : addon.groupId(group);
  if (gid !== null) return gid;
  throw new SpikedError(
    'ERR_CONFIG_INVALID',
    `${setting}: expected a group of this system, found "${group}"`,
  );
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
  manager: ServiceManager,
  modelSetting: string,
): Promise<DaemonState> {
  const files = await ModelFiles.open(config.models, modelSetting);
  const [first] = await files.list();
  if (!first)
    throw new SpikedError(
      'ERR_MODEL_NOT_FOUND',
      `${modelSetting} ${config.models.join(', ')}: expected a .gguf file, found none`,
    );
  const models = new ModelRegistry(
    engine,
    files,
    first.name,
    config.contextTokens,
    (path) => openModelTokenizer(path, { maxTextBytes: config.limits.max_text_bytes }),
    ({ name, path }) => {
      log.warn({ model: name, path }, 'layout unverified');
    },
  );
  for (const { path, name } of await files.initial()) {
    manager.status(`loading ${name}`);
    await models.load(path);
    log.info({ model: name, path }, 'model loaded');
  }
  const { limits } = config;
  const scheduler = new Scheduler(schedulerLimits(limits));
  return {
    config,
    addon,
    engine,
    models,
    scheduler,
    generations: new Set(),
    sessions: new Sessions(limits),
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

function serve(
  state: DaemonState,
  listening: Listening,
  connections: Connections,
  manager: ServiceManager,
): Daemon {
  state.log.info(
    { socket: listening.path, pid: process.pid, models: state.models.names, isa: state.engine.isa },
    'ready',
  );
  // Without a listener for it, a connection that the system cannot give (no memory) would end the process.
  listening.server.on('error', (error) => {
    state.log.error({ err: error }, 'a connection could not be accepted');
  });
  void state.machine.read();
  manager.ready(statusOf(state));
  const endReports = startReports(manager, state);
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    state.stopping = true;
    manager.stopping(statusOf(state));
    state.log.info(
      { active: state.scheduler.activeCount, waiting: state.scheduler.waitingCount },
      'stopping',
    );
    await listening.close();
    await withPatience(manager, drain(state));
    await connections.end();
    endReports();
    state.machine.stop();
    await state.models.close();
    state.engine.close();
    state.log.info('stopped');
    state.log.flush();
  };
  const takeOver = (options: DaemonOptions): void => {
    const { changed, needsRestart } = reload(state, connections, options);
    state.log.info({ changed }, 'configuration reloaded');
    if (needsRestart.length > 0) {
      state.log.warn({ settings: needsRestart }, 'settings that changed need a restart');
    }
  };
  return { address: listening.path, state, reload: takeOver, close: () => (closing ??= close()) };
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
