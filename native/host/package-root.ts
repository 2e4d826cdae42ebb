import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json: this file runs as dist/native/host/package-root.js. */
export const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
