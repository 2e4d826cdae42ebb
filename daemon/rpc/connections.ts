import type net from 'node:net';
import { SpikedError } from '../../client/protocol/index.js';
import type { Config } from '../config.js';
import type { DaemonState } from '../state.js';
import { Connection, turnAway, type ConnectionSettings } from './connection.js';
import { dispatch } from './dispatch.js';
import { isAllowed, peerOf, type Peer } from './peer.js';

/** Milliseconds for connections to take their last bytes when the daemon stops. */
const lastBytesMs = 1_000;

/** All clients, up to the cap. */
export class Connections {
  private readonly open = new Map<net.Socket, { connection: Connection; peer: Peer | null }>();
  private nextId = 1;

  constructor(private readonly daemon: DaemonState) {}

  accept(socket: net.Socket): void {
    const { config, addon, scheduler, sessions, counts, log } = this.daemon;
    const { limits } = config;
    if (this.open.size >= limits.max_connections) {
      counts.connectionsRefused.all_in_use++;
      log.warn({ connections: this.open.size }, 'turning a connection away');
      const text = `connections: expected at most ${limits.max_connections}, found them all in use`;
      turnAway(socket, new SpikedError('ERR_BUSY', text));
      return;
    }
    const peer = peerOf(socket, (fd) => addon.peerCredentials(fd));
    if (!isAllowed(config, peer)) {
      counts.connectionsRefused.not_allowed++;
      log.warn(named(peer), 'refusing a peer');
      turnAway(socket, forbidden(peer));
      return;
    }
    const id = this.nextId++;
    const connection = new Connection(socket, {
      id,
      settings: settingsOf(config),
      log: log.child({ connection: id, uid: peer?.uid }),
      onMessage: (from, message, utf8) => {
        dispatch(this.daemon, from, message, utf8);
      },
      onRelieved: () => {
        scheduler.wake();
      },
    });
    this.open.set(socket, { connection, peer });
    counts.connectionsAccepted++;
    counts.connections++;
    connection.log.info({ gid: peer?.gid, pid: peer?.pid }, 'connected');
    socket.once('close', () => {
      this.open.delete(socket);
      counts.connections--;
      void sessions.closeOf(connection);
      connection.log.debug('disconnected');
      scheduler.wake();
    });
  }

  /** Holds the open ones to a configuration that has changed: limits, patience, allow-lists. */
  reload(): void {
    const { config } = this.daemon;
    for (const { connection, peer } of this.open.values()) {
      connection.set(settingsOf(config));
      if (isAllowed(config, peer)) continue;
      connection.log.warn('ending a connection whose peer is not allowed any more');
      connection.close(forbidden(peer));
    }
  }

  /** Ends every connection after what is written to it has been sent. */
  async end(): Promise<void> {
    const ended = [...this.open.keys()].map(
      (socket) => new Promise((resolve) => socket.once('close', resolve)),
    );
    for (const { connection } of this.open.values()) {
      connection.close(new SpikedError('ERR_SHUTTING_DOWN', 'the daemon is stopping'));
    }
    const timer = setTimeout(() => {
      for (const socket of this.open.keys()) socket.destroy();
    }, lastBytesMs);
    await Promise.all(ended);
    clearTimeout(timer);
  }
}

function settingsOf({ limits, slowReaderMs, messageMs }: Config): ConnectionSettings {
  return {
    limits: {
      maxFrameBytes: limits.max_frame_bytes,
      maxDepth: limits.max_depth,
      maxItems: limits.max_items,
    },
    maxUnreadBytes: limits.max_unread_bytes,
    slowReaderMs,
    messageMs,
  };
}

function named(peer: Peer | null): object {
  return { uid: peer?.uid, gid: peer?.gid, pid: peer?.pid };
}

function forbidden(peer: Peer | null): SpikedError {
  const who = peer === null ? 'a peer that the system does not name' : `uid ${peer.uid}`;
  return new SpikedError(
    'ERR_PEER_FORBIDDEN',
    `connection: expected a user or group of the allow-lists, found ${who}`,
  );
}
