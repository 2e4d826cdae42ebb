import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../../native/host/package-root.js';
import type { Places } from './places.js';
import type { Prefix } from './prefix.js';

/** A file of the service, as systemd will find it. */
export interface ServiceFile {
  path: string;
  text: string;
}

/** Every file that an installation puts in place, by the templates in systemd/ of the program that installs. */
export async function serviceFiles(places: Places, prefix: Prefix): Promise<ServiceFile[]> {
  const { scope, units, config } = places;
  const templates: [template: string, path: string][] = [
    [`${scope}/spiked.service`, join(units, 'spiked.service')],
    [`${scope}/spiked.socket`, join(units, 'spiked.socket')],
    ['config.json', config],
  ];
  if (scope === 'system')
    templates.push(
      ['sysusers.conf', '/etc/sysusers.d/spiked.conf'],
      ['tmpfiles.conf', '/etc/tmpfiles.d/spiked.conf'],
      ['udev.rules', '/etc/udev/rules.d/70-spiked.rules'],
    );
  const values = { '@NODE@': prefix.node, '@PREFIX@': prefix.folder, '@STATE@': places.state };
  return Promise.all(
    templates.map(async ([template, path]) => {
      const text = await readFile(join(packageRoot, 'systemd', template), 'utf8');
      return {
        path,
        text: Object.entries(values).reduce((all, [name, value]) => all.replaceAll(name, value), text),
      };
    }),
  );
}
