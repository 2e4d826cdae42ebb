import { realpathSync } from 'node:fs';
import { SerialPort } from 'serialport';
import { SpikedError } from '../../client/protocol/errors.js';
import { openFault, portFault } from './serial/port-fault.js';

export interface SerialSettings {
  readonly baudRate: number;
  readonly dataBits?: 7 | 8;
  readonly parity?: 'none' | 'even' | 'odd';
  readonly stopBits?: 1 | 2;
}

/** How often an open port is asked whether it still is one. */
const pulseMs = 500;

export interface LinkListener {
  /** Bytes as they came; `tNs` is CLOCK_MONOTONIC when this process got them. */
  data(bytes: Uint8Array, tNs: bigint): void;
  /** The port closed by itself: unplugged, hung up, failed. Once at most, and never after `close`. */
  lost(why: string): void;
}

/** Whether a port is a pseudo-terminal: no meter is behind it, a program is. Symlinks are followed. */
export function isPseudoTerminal(path: string): boolean {
  try {
    return realpathSync(path).startsWith('/dev/pts/');
  } catch {
    return false;
  }
}

/** What to tell whoever names a port that may be another one after the next plugging in; undefined for a name that stays. */
export function portNameWarning(path: string): string | undefined {
  if (!/^\/dev\/tty(USB|ACM|CH343USB|XRUSB)\d+$/.test(path)) return undefined;
  return `${path} may be another adapter after the next plugging in: use its name under /dev/serial/by-id/ (by-path/ for a CH340, which has no serial number)`;
}

/** One open serial port. It is locked against a second reader, and DTR stays up at its end, which would reset some meters. */
export class SerialLink {
  private ended = false;
  private readonly pulse = setInterval(() => void this.feel(), pulseMs);

  private constructor(
    private readonly port: SerialPort,
    readonly path: string,
    private readonly listener: LinkListener,
  ) {
    port.on('data', (bytes: Buffer) => {
      if (!this.ended) listener.data(bytes, process.hrtime.bigint());
    });
    port.on('close', (error?: Error | null) => this.lost(error?.message ?? 'the port closed'));
    port.on('error', (error) => this.lost(error.message));
  }

  /**
   * Opens a port.
   *
   * @throws SpikedError ERR_METER_UNREACHABLE absent, forbidden, held by another program or no terminal
   */
  static async open(path: string, settings: SerialSettings, listener: LinkListener): Promise<SerialLink> {
    const fault = await portFault(path);
    if (fault !== undefined) throw fault;
    const port = new SerialPort({
      path,
      baudRate: settings.baudRate,
      dataBits: settings.dataBits ?? 8,
      parity: settings.parity ?? 'none',
      stopBits: settings.stopBits ?? 1,
      lock: true,
      hupcl: false,
      autoOpen: false,
    });
    const error = await new Promise<Error | null>((resolve) => port.open(resolve));
    if (error) throw await openFault(path, error);
    const link = new SerialLink(port, path, listener);
    // What came before this program asked anything is nobody's answer.
    await link.flush();
    return link;
  }

  /**
   * Sends bytes; resolves when the system has taken them.
   *
   * @throws SpikedError ERR_METER_LOST the port closed
   */
  write(bytes: Uint8Array): Promise<void> {
    return this.ask('write', (done) => this.port.write(Buffer.from(bytes), done));
  }

  /**
   * Drops what the system holds of this port, received and unsent.
   *
   * @throws SpikedError ERR_METER_LOST the port closed
   */
  flush(): Promise<void> {
    return this.ask('flush', (done) => this.port.flush(done));
  }

  /** Closes the port. Never throws. */
  async close(): Promise<void> {
    this.ended = true;
    clearInterval(this.pulse);
    if (this.port.isOpen) await new Promise<void>((resolve) => this.port.close(() => resolve()));
  }

  private ask(what: string, act: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void =>
        reject(new SpikedError('ERR_METER_LOST', `${this.path}: ${what}: ${why}`));
      if (this.ended || !this.port.isOpen) fail('the port is closed');
      else act((error) => (error ? fail(error.message) : resolve()));
    });
  }

  /** A read of a port that was hung up gives no bytes and no error, and is tried again for ever without a close event; an ioctl fails. */
  private async feel(): Promise<void> {
    const why = await this.port.port?.getBaudRate().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (why !== undefined && /input\/output|bad file|no such device/i.test(why)) this.lost(why);
  }

  private lost(why: string): void {
    if (this.ended) return;
    this.ended = true;
    clearInterval(this.pulse);
    if (this.port.isOpen) this.port.close(() => undefined);
    this.listener.lost(why);
  }
}
