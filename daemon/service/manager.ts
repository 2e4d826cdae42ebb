import { addon } from '../../native/host/index.js';
import type { ServiceEnvironment } from './environment.js';

/** The service manager (sd_notify). Without one, nothing here does anything. */
export class ServiceManager {
  constructor(private readonly environment: ServiceEnvironment) {}

  get present(): boolean {
    return this.environment.notifyAddress !== undefined;
  }

  get watchdogMs(): number | undefined {
    return this.environment.watchdogMs;
  }

  get socketFd(): number | undefined {
    return this.environment.socketFd;
  }

  /** One line for people. */
  status(text: string): void {
    this.notify(`STATUS=${oneLine(text)}`);
  }

  ready(text: string): void {
    this.notify('READY=1', `STATUS=${oneLine(text)}`);
  }

  /** ready() ends it. */
  reloading(): void {
    this.notify('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`, 'STATUS=reloading');
  }

  stopping(text: string): void {
    this.notify('STOPPING=1', `STATUS=${oneLine(text)}`);
  }

  /** The start or the stop goes on, and says so again within this time. */
  needMoreTime(ms: number): void {
    this.notify(`EXTEND_TIMEOUT_USEC=${ms * 1000}`);
  }

  signOfLife(): void {
    this.notify('WATCHDOG=1');
  }

  private notify(...lines: string[]): void {
    const { notifyAddress } = this.environment;
    if (notifyAddress !== undefined) addon().notifySystemd(notifyAddress, lines.join('\n'));
  }
}

export const noServiceManager = new ServiceManager({
  notifyAddress: undefined,
  watchdogMs: undefined,
  socketFd: undefined,
});

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
