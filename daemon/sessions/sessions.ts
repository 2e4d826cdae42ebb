import { SpikedError } from '../../client/protocol/index.js';
import type { NativeSession } from '../../native/host/index.js';
import type { Limits } from '../limits.js';
import type { Connection } from '../rpc/connection.js';
import { OpenSession, type OpenSessionSetup } from './open-session.js';

type Caps = Pick<Limits, 'max_sessions' | 'max_connection_sessions'>;
type Opening = Omit<OpenSessionSetup, 'id' | 'native' | 'onClosed'>;

/** All sessions, up to the caps. Each belongs to the connection that opened it and ends with it. */
export class Sessions {
  private readonly open = new Map<number, { owner: Connection; session: OpenSession }>();
  private nextId = 1;

  constructor(private limits: Caps) {}

  /** Sessions beyond a lower cap stay open. */
  setLimits(limits: Caps): void {
    this.limits = limits;
  }

  get count(): number {
    return this.open.size;
  }

  /** @throws SpikedError ERR_BUSY when there are too many, and what opening the native one throws */
  add(owner: Connection, opening: Opening): OpenSession {
    this.checkRoom('session.open', owner);
    return this.insert(owner, opening, opening.model.native.openSession());
  }

  /** A session that goes on from where another one is. @throws as add, and ERR_SESSION_CLOSED when that one is being closed */
  async fork(owner: Connection, origin: OpenSession): Promise<OpenSession> {
    this.checkRoom('session.fork', owner);
    const native = await origin.setup.native.fork();
    try {
      if (origin.closing) throw closed('session.fork', origin.setup.id);
      this.checkRoom('session.fork', owner);
      return this.insert(owner, { ...origin.setup, seed: origin.seed }, native, origin);
    } catch (error) {
      native.close();
      throw error;
    }
  }

  /** @throws SpikedError ERR_SESSION_CLOSED */
  get(method: string, owner: Connection, id: number): OpenSession {
    const entry = this.open.get(id);
    if (entry?.owner !== owner || entry.session.closing) throw closed(method, id);
    return entry.session;
  }

  async closeOf(owner: Connection): Promise<void> {
    const own = [...this.open.values()].filter((entry) => entry.owner === owner);
    await Promise.all(own.map(({ session }) => session.close()));
  }

  private insert(
    owner: Connection,
    opening: Opening,
    native: NativeSession,
    origin?: OpenSession,
  ): OpenSession {
    const id = this.nextId++;
    const onClosed = (session: OpenSession, idle: boolean): void => {
      this.open.delete(id);
      if (!idle) return;
      const { idleTimeoutMs } = session.setup;
      owner.log.info({ session: id, idle_timeout_ms: idleTimeoutMs }, 'session expired');
      owner.notify('session.expired', { session: id, idle_timeout_ms: idleTimeoutMs });
    };
    const session = new OpenSession({ ...opening, id, native, onClosed }, origin);
    this.open.set(id, { owner, session });
    return session;
  }

  private checkRoom(method: string, owner: Connection): void {
    const { max_sessions: most, max_connection_sessions: mostOwn } = this.limits;
    const own = [...this.open.values()].filter((entry) => entry.owner === owner).length;
    if (own >= mostOwn) {
      throw new SpikedError(
        'ERR_BUSY',
        `${method}: expected at most ${mostOwn} sessions of a connection, found ${own} open`,
      );
    }
    if (this.open.size >= most) {
      throw new SpikedError(
        'ERR_BUSY',
        `${method}: expected at most ${most} sessions, found ${this.open.size} open`,
      );
    }
  }
}

function closed(method: string, id: number): SpikedError {
  const text = `${method}: session ${id}: expected an open session of this connection, found none`;
  return new SpikedError('ERR_SESSION_CLOSED', text);
}
