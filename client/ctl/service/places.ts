import { homedir } from 'node:os';
import { join } from 'node:path';

export type Scope = 'system' | 'user';

/** Where a service lives in the file system that systemd sees. */
export interface Places {
  scope: Scope;
  units: string;
  config: string;
  /** What belongs to the service and outlives it: models that were added, the record of the installation. */
  state: string;
  record: string;
}

export function places(scope: Scope, env: NodeJS.ProcessEnv = process.env): Places {
  const of = (units: string, config: string, state: string): Places => ({
    scope,
    units,
    config: join(config, 'config.json'),
    state,
    record: join(state, 'installed.json'),
  });
  if (scope === 'system') return of('/etc/systemd/system', '/etc/spiked', '/var/lib/spiked');
  const config = env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config');
  const state = env['XDG_DATA_HOME'] ?? join(homedir(), '.local/share');
  return of(join(config, 'systemd/user'), join(config, 'spiked'), join(state, 'spiked'));
}
