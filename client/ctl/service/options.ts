import { SpikedError } from '../../protocol/errors.js';
import type { Scope } from './places.js';

/** Of every `service` command. */
export interface ServiceOptions {
  user?: true;
  root?: string;
  json?: true;
}

export interface ChangeOptions extends ServiceOptions {
  dryRun?: true;
}

export function scopeOf({ user }: ServiceOptions): Scope {
  return user ? 'user' : 'system';
}

/** Only root may change the system's files; those under another root are whoever's they are. */
export function checkRights({ user, root, dryRun }: ChangeOptions): void {
  const uid = process.getuid?.() ?? 0;
  if (user || root !== undefined || dryRun || uid === 0) return;
  throw new SpikedError(
    'ERR_USAGE',
    `service of the system: expected root, found uid ${uid}; --user makes one of your own`,
  );
}
