import type net from 'node:net';

export interface Peer {
  pid: number;
  uid: number;
  gid: number;
}

/** SO_PEERCRED of a descriptor; throws when there is none. */
export type PeerCredentials = (fd: number) => Peer;

/** Who is at the other end; the pid is a hint (it can be reused), the uid a fact. Null when the system does not tell. */
export function peerOf(socket: net.Socket, credentials: PeerCredentials): Peer | null {
  // Node has no public name for a socket's descriptor.
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  if (typeof fd !== 'number' || fd < 0) return null;
  try {
    return credentials(fd);
  } catch {
    return null;
  }
}
