import { SpikedError } from '../../client/protocol/index.js';

/** What the service manager that started this process tells it. */
export interface ServiceEnvironment {
  /** Where it listens for notifications. */
  notifyAddress: string | undefined;
  /** How long the watchdog waits between two signs of life. */
  watchdogMs: number | undefined;
  /** A socket that listens already (socket activation). */
  socketFd: number | undefined;
}

/** The first descriptor that is handed over. */
const firstFd = 3;
const names = [
  'NOTIFY_SOCKET',
  'WATCHDOG_USEC',
  'WATCHDOG_PID',
  'LISTEN_FDS',
  'LISTEN_PID',
  'LISTEN_FDNAMES',
] as const;

/**
 * Reads what is meant for this process and takes all of it out of `env`, so that no child believes that it is meant.
 *
 * @throws SpikedError ERR_CONFIG_INVALID when other than one socket is handed over
 */
export function takeServiceEnvironment(env: NodeJS.ProcessEnv, pid: number): ServiceEnvironment {
  const taken = Object.fromEntries(names.map((name) => [name, env[name]]));
  // `delete` reaches the C environment; an assignment of undefined would write the word.
  for (const name of names) Reflect.deleteProperty(env, name);
  const isOurs = (name: string): boolean => taken[name] === String(pid);
  const watchdogUsec = Number(taken['WATCHDOG_USEC']);
  const watched = watchdogUsec > 0 && (taken['WATCHDOG_PID'] === undefined || isOurs('WATCHDOG_PID'));
  return {
    notifyAddress: taken['NOTIFY_SOCKET'],
    watchdogMs: watched ? watchdogUsec / 1000 : undefined,
    socketFd: isOurs('LISTEN_PID') ? onlySocket(taken['LISTEN_FDS'], taken['LISTEN_FDNAMES']) : undefined,
  };
}

function onlySocket(count: string | undefined, socketNames: string | undefined): number {
  if (count === '1') return firstFd;
  const named = socketNames === undefined ? '' : ` (${socketNames})`;
  throw new SpikedError(
    'ERR_CONFIG_INVALID',
    `LISTEN_FDS: expected one socket to serve, found ${count ?? 'no number'}${named}`,
  );
}
