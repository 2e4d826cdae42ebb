import net from 'node:net';
import { Client } from './client.js';
import { connectTimeoutMs, type ConnectOptions } from './options.js';
import { checkSocketPath, SpikedError, usualSocketPaths } from './protocol/index.js';
import { RpcConnection } from './rpc-connection.js';

/**
 * A client of the daemon at a Unix socket: the given one, else the first of the usual ones that answers.
 *
 * @throws SpikedError ERR_DAEMON_NOT_RUNNING when nobody answers there
 * @throws SpikedError ERR_SOCKET_PATH when the path is too long, no socket, or may not be used
 * @throws SpikedError ERR_TIMEOUT when no connection stands in time
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const paths = options.path === undefined ? usualSocketPaths() : [options.path];
  let absent: unknown;
  for (const path of paths) {
    checkSocketPath(path);
    try {
      const socket = await dial(path, options.timeoutMs ?? connectTimeoutMs);
      return new Client(new RpcConnection(socket, path));
    } catch (error) {
      if (!(error instanceof SpikedError) || error.code !== 'ERR_DAEMON_NOT_RUNNING') throw error;
      absent = error;
    }
  }
  if (paths.length === 1) throw absent;
  throw new SpikedError(
    'ERR_DAEMON_NOT_RUNNING',
    `${paths.join(', ')}: expected a running daemon at one of them, nobody answers`,
    { cause: absent },
  );
}

function dial(path: string, timeoutMs: number): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path });
    const timer = setTimeout(() => {
      socket.destroy(
        new SpikedError('ERR_TIMEOUT', `${path}: expected a connection within ${timeoutMs} ms, found none`),
      );
    }, timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error instanceof SpikedError ? error : dialError(path, error));
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

function dialError(path: string, error: NodeJS.ErrnoException): SpikedError {
  switch (error.code) {
    case 'ENOENT':
      return new SpikedError(
        'ERR_DAEMON_NOT_RUNNING',
        `${path}: expected a running daemon, found no socket`,
        { cause: error },
      );
    case 'ECONNREFUSED':
      // Also what the kernel says of a file that is no socket.
      return new SpikedError('ERR_DAEMON_NOT_RUNNING', `${path}: expected a running daemon, nobody answers`, {
        cause: error,
      });
    default:
      return new SpikedError('ERR_SOCKET_PATH', `${path}: cannot connect: ${error.message}`, {
        cause: error,
      });
  }
}
