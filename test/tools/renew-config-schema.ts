/** Writes systemd/config.schema.json anew, after a setting of the daemon has changed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configSchema } from '../../daemon/config-file.js';
import { root } from './paths.js';

writeFileSync(join(root, 'systemd/config.schema.json'), `${JSON.stringify(configSchema(), null, 2)}\n`);
