import type net from 'node:net';

export interface Peer {
  pid: number;
  uid: number;
  gid: number;
  /** Supplementary ones. */
  groups: number[];
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

export interface AllowLists {
  allowUids?: number[] | undefined;
  allowGids?: number[] | undefined;
}

/** Whether either list names the peer; without any list everybody may connect who can open the socket. */
export function isAllowed({ allowUids, allowGids }: AllowLists, peer: Peer | null): boolean {
  if (allowUids === undefined && allowGids === undefined) return true;
  if (peer === null) return false;
  const isMember = (gid: number): boolean => gid === peer.gid || peer.groups.includes(gid);
  return (allowUids?.includes(peer.uid) ?? false) || (allowGids?.some(isMember) ?? false);
}
