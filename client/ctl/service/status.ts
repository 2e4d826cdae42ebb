import { join, resolve } from 'node:path';
import { exitCode } from '../exit.js';
import { printJson, printLine, table } from '../output.js';
import { scopeOf, type ServiceOptions } from './options.js';
import { places } from './places.js';
import { fileState, readRecord, type FileState, type InstallRecord } from './record.js';
import { systemctl, systemdRuns, tryRun } from './systemd.js';

interface UnitState {
  active: string;
  /** Started at boot, or by whatever wants it. */
  enabled: boolean;
}

interface ServiceState extends UnitState {
  pid: number;
  since: string;
  /** What the daemon says of itself. */
  status: string;
  restarts: number;
  result: string;
  exit_status: number;
}

/** What is installed, whether it is as it was written, and what systemd says of it. */
export async function status(options: ServiceOptions): Promise<void> {
  const scope = scopeOf(options);
  const where = places(scope);
  const root = resolve(options.root ?? '/');
  const record = await readRecord(where, root);
  const files = await statesOf(record, root);
  const runs = options.root === undefined && systemdRuns(scope);
  const show = (unit: string): Map<string, string> =>
    properties(tryRun(systemctl(scope, 'show', unit)) ?? '');
  const service = runs ? serviceState(show('spiked.service')) : null;
  const socket = runs ? unitState(show('spiked.socket')) : null;
  const answers = service?.active === 'active' || socket?.active === 'active';
  if (!answers) process.exitCode = exitCode.noDaemon;
  if (options.json) {
    const { version, prefix, node } = record ?? {};
    const installed = record === undefined ? null : { version, prefix, node, record: where.record };
    await printJson({ scope, installed, files, service, socket });
    return;
  }
  await printLine(
    table([
      ['installed', installedText(record, join(root, where.record))],
      ...files.filter(({ state }) => state !== 'as_installed').map(({ path, state }) => [state, path]),
      ['socket', socket === null ? 'unknown: no systemd to ask' : socketText(socket)],
      [
        'service',
        service === null ? 'unknown: no systemd to ask' : serviceText(service, socket?.active === 'active'),
      ],
      ...(service?.status ? [['says', service.status]] : []),
      ...(service && service.restarts > 0 ? [['restarts', String(service.restarts)]] : []),
    ]),
  );
}

async function statesOf(
  record: InstallRecord | undefined,
  root: string,
): Promise<{ path: string; state: FileState }[]> {
  return Promise.all(
    Object.entries(record?.files ?? {}).map(async ([path, sha256]) => ({
      path,
      state: await fileState(path, sha256, root),
    })),
  );
}

function properties(text: string): Map<string, string> {
  return new Map(
    text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

function unitState(found: Map<string, string>): UnitState {
  return {
    active: found.get('ActiveState') ?? 'unknown',
    enabled: (found.get('UnitFileState') ?? '').startsWith('enabled'),
  };
}

function serviceState(found: Map<string, string>): ServiceState {
  return {
    ...unitState(found),
    pid: Number(found.get('MainPID') ?? 0),
    since: found.get('ActiveEnterTimestamp') ?? '',
    status: found.get('StatusText') ?? '',
    restarts: Number(found.get('NRestarts') ?? 0),
    result: found.get('Result') ?? '',
    exit_status: Number(found.get('ExecMainStatus') ?? 0),
  };
}

function installedText(record: InstallRecord | undefined, path: string): string {
  if (record === undefined) return `nothing (no ${path})`;
  return `version ${record.version} in ${record.prefix}, run by ${record.node}`;
}

function socketText({ active, enabled }: UnitState): string {
  const boot = enabled ? 'also after the next boot' : 'not after the next boot';
  if (active === 'active') return `listening, ${boot}`;
  return active === 'failed'
    ? 'failed: systemctl status spiked.socket says why'
    : `not listening (${active})`;
}

function serviceText(service: ServiceState, listening: boolean): string {
  const { active, pid, since, result, exit_status: code } = service;
  switch (active) {
    case 'active':
    case 'reloading':
      return `running, pid ${pid}, since ${since}`;
    case 'activating':
      return `starting, pid ${pid}`;
    case 'deactivating':
      return `stopping, pid ${pid}`;
    case 'failed':
      return `failed (${result}, exit status ${code}; spiked --help lists them): journalctl -u spiked says why`;
    default:
      return listening ? 'not running; the first connection starts it' : 'not running';
  }
}
