import { SpikedError } from './errors.js';

/** `sun_path` holds 108 bytes with its NUL. Node cuts a longer path silently and listens on another file. */
export const maxSocketPathBytes = 107;

/** Where daemon and clients meet unless told otherwise: $SPIKED_SOCKET, $XDG_RUNTIME_DIR/spiked.sock, /run/spiked/spiked.sock. */
export function defaultSocketPath(env: NodeJS.ProcessEnv = process.env): string {
  if (env['SPIKED_SOCKET']) return env['SPIKED_SOCKET'];
  if (env['XDG_RUNTIME_DIR']) return `${env['XDG_RUNTIME_DIR']}/spiked.sock`;
  return '/run/spiked/spiked.sock';
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
