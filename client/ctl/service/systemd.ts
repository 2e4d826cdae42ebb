import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { SpikedError } from '../../protocol/errors.js';
import type { Scope } from './places.js';

export type CommandLine = readonly [program: string, ...args: string[]];

export const units = ['spiked.service', 'spiked.socket'] as const;

export function systemctl(scope: Scope, ...args: string[]): CommandLine {
  return scope === 'user' ? ['systemctl', '--user', ...args] : ['systemctl', ...args];
}

/** Whether a systemd of this scope runs here, to be told of what changed. */
export function systemdRuns(scope: Scope): boolean {
  if (scope === 'system') return existsSync('/run/systemd/system');
  return tryRun(systemctl('user', 'show', '--property=Version')) !== undefined;
}

const udevRuns = (): boolean => existsSync('/run/udev/control');

/** What makes installed files take effect, in this order. */
export function afterInstall(scope: Scope): CommandLine[] {
  return [
    ...(scope === 'system' ? systemFacts() : []),
    systemctl(scope, 'daemon-reload'),
    systemctl(scope, 'enable', '--now', 'spiked.socket'),
    // A daemon of the version before goes on with the new one.
    systemctl(scope, 'try-restart', 'spiked.service'),
  ];
}

function systemFacts(): CommandLine[] {
  const all: CommandLine[] = [
    ['systemd-sysusers', '/etc/sysusers.d/spiked.conf'],
    ['systemd-tmpfiles', '--create', '/etc/tmpfiles.d/spiked.conf'],
  ];
  if (udevRuns())
    all.push(['udevadm', 'control', '--reload'], ['udevadm', 'trigger', '--subsystem-match=tty']);
  return all;
}

/** @param present  units that are still there: systemctl refuses the name of one that is not */
export function beforeUninstall(scope: Scope, present: readonly string[]): CommandLine[] {
  return present.length === 0 ? [] : [systemctl(scope, 'disable', '--now', ...present)];
}

export function afterUninstall(scope: Scope): CommandLine[] {
  const udev: CommandLine[] = scope === 'system' && udevRuns() ? [['udevadm', 'control', '--reload']] : [];
  return [systemctl(scope, 'daemon-reload'), ...udev];
}

/** @throws SpikedError ERR_TOOL_MISSING, ERR_TOOL_FAILED with what the program said */
export function runCommand([program, ...args]: CommandLine): string {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  if (error !== undefined && (error as NodeJS.ErrnoException).code === 'ENOENT')
    throw new SpikedError('ERR_TOOL_MISSING', `${program}: expected the program, found none in PATH`);
  const how = error?.message ?? `exit status ${String(status ?? signal)}`;
  throw new SpikedError('ERR_TOOL_FAILED', `${[program, ...args].join(' ')}: ${how}: ${stderr.trim()}`);
}

export function tryRun(command: CommandLine): string | undefined {
  try {
    return runCommand(command);
  } catch {
    return undefined;
  }
}
