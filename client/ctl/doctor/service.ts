import type { Scope } from '../service/places.js';
import { systemctl, systemdRuns, tryRun, units } from '../service/systemd.js';
import { fail, ok, type Check } from './check.js';

/** The units, where a systemd runs and has them. */
export function checkService(): Check[] {
  const scopes = (['system', 'user'] as const).filter(systemdRuns);
  if (scopes.length === 0) return [ok('service', 'no systemd runs here')];
  const found = scopes.flatMap((scope) => units.flatMap((unit) => checkUnit(scope, unit)));
  return found.length > 0 ? found : [ok('service', 'not installed')];
}

function checkUnit(scope: Scope, unit: string): Check[] {
  const shown = tryRun(systemctl(scope, 'show', unit, '--property=LoadState,ActiveState,SubState')) ?? '';
  const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(shown)?.[1] ?? '';
  if (value('LoadState') !== 'loaded') return [];
  const text = `${unit} (${scope}): ${value('ActiveState')} (${value('SubState')})`;
  if (value('ActiveState') !== 'failed') return [ok('service', text)];
  const user = scope === 'user' ? '--user ' : '';
  return [
    fail('service', text, `journalctl ${user}-u ${unit} says why; then systemctl ${user}restart ${unit}`),
  ];
}
