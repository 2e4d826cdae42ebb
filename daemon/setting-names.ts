import { describePath, type NamePath } from '../client/protocol/index.js';
import { fileKey } from './config-file.js';
import type { GivenOptions } from './config.js';
import type { LimitName } from './limits.js';

/** The option that gives a setting; the limits have those of their names. */
export const optionOf = {
  models: 'model',
  socketPath: 'socket',
  socketMode: 'socket-mode',
  socketGroup: 'socket-group',
  allowUids: 'allow-uid',
  allowGids: 'allow-gid',
  threads: 'threads',
  cpus: 'cpus',
  isa: 'isa',
  activations: 'activations',
  contextTokens: 'context',
  kv: 'kv',
  memory: 'memory',
  contract: 'contract',
  headBits: 'head-bits',
  prefixCacheMib: 'prefix-cache',
  ramBudgetBytes: 'ram-budget',
  logLevel: 'log-level',
  logText: 'log-text',
  drainMs: 'drain-ms',
  slowReaderMs: 'slow-reader-ms',
  sessionIdleMs: 'session-idle-ms',
  messageMs: 'message-ms',
} as const satisfies Partial<Record<keyof GivenOptions, string>>;

export function limitOption(limit: LimitName): string {
  return limit.replaceAll('_', '-');
}

/** Calls a setting what whoever gave it called it: the option where the command line has it, else the key of the configuration file. */
export function namesOf(given: GivenOptions, configPath: string | undefined): NamePath {
  return ([setting, ...inside]) => {
    const name = String(setting);
    const limit = inside[0] as LimitName;
    if (name === 'limits' && given.limits?.[limit] !== undefined) return `--${limitOption(limit)}`;
    if (name in optionOf && given[name as keyof GivenOptions] !== undefined)
      return `--${optionOf[name as keyof typeof optionOf]}`;
    return `${configPath === undefined ? '' : `${configPath}: `}${describePath([fileKey(name), ...inside])}`;
  };
}
