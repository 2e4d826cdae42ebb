import { SpikedError } from './errors.js';

/** `sun_path` holds 108 bytes with its NUL. Node cuts a longer path silently and listens on another file. */
export const maxSocketPathBytes = 107;

/** Where a client looks for a daemon unless told otherwise: $SPIKED_SOCKET, or the user's own place and then the system's. */
export function usualSocketPaths(env: NodeJS.ProcessEnv = process.env): [first: string, ...others: string[]] {
  if (env['SPIKED_SOCKET']) return [env['SPIKED_SOCKET']];
  const system = '/run/spiked/spiked.sock';
  return env['XDG_RUNTIME_DIR'] ? [`${env['XDG_RUNTIME_DIR']}/spiked.sock`, system] : [system];
}

/** Where a daemon listens unless told otherwise. */
export function defaultSocketPath(env: NodeJS.ProcessEnv = process.env): string {
  return usualSocketPaths(env)[0];
}

/** @throws SpikedError ERR_SOCKET_PATH when no socket can have this path */
export function checkSocketPath(path: string): void {
  const sizeBytes = Buffer.byteLength(path);
  if (sizeBytes === 0)
    throw new SpikedError('ERR_SOCKET_PATH', 'socket path: expected a file path, found an empty string');
  if (path.includes('\0')) {
    throw new SpikedError(
      'ERR_SOCKET_PATH',
      `${JSON.stringify(path)}: expected a file path, found a NUL byte in it`,
    );
  }
  if (sizeBytes > maxSocketPathBytes) {
    throw new SpikedError(
      'ERR_SOCKET_PATH',
      `${path}: expected at most ${maxSocketPathBytes} bytes, found ${sizeBytes}`,
    );
  }
}
