import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import type { Target } from './manifest.js';
import { moduleFiles, runtimeDependencies } from './modules.js';

/** A file of the package: a copy of one of the checkout, or text. */
export interface PackageFile {
  path: string;
  from: { copy: string } | { text: string };
  executable: boolean;
}

interface OwnPackage {
  name: string;
  version: string;
  engines: { node: string };
  bin: Record<string, string>;
  dependencies: Record<string, string>;
  [key: string]: unknown;
}

export const addonFile = 'build/Release/spiked.node';

const rooms = ['client', 'daemon', 'export', 'native/host', 'package', 'power'];
const folders = ['docs', 'systemd'];
const single = ['CHANGELOG.md', 'LICENSE', 'README.md', 'models/README.md', 'models/default.gguf'];
/** Not for whoever runs it: records of measurements, and the programs that build. */
const left = /^docs\/bench\/|^native\/host\/build|^package\/(?!manifest\.)/;
/** Of package.json, what is true of a package too. */
const keptKeys = [
  'name',
  'version',
  'description',
  'license',
  'private',
  'type',
  'engines',
  'bin',
  'exports',
];

export function ownPackage(root: string): OwnPackage {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as OwnPackage;
}

/** Everything but addon and manifest. */
export function contents(root: string, target: Target): PackageFile[] {
  const own = ownPackage(root);
  const dependencies = runtimeDependencies(own.dependencies);
  const sources = rooms.flatMap((room) => filesUnder(root, room)).filter((path) => path.endsWith('.ts'));
  const copied = [
    ...sources.flatMap((path) => compiled(root, path)),
    ...folders.flatMap((folder) => filesUnder(root, folder)),
    ...single,
    ...moduleFiles(root, Object.keys(dependencies), target),
  ];
  const kept = Object.fromEntries(keptKeys.map((key) => [key, own[key]]));
  return [
    ...copied.map((path) => ({ path, from: { copy: join(root, path) }, executable: false })),
    {
      path: 'package.json',
      from: { text: `${JSON.stringify({ ...kept, dependencies }, null, 2)}\n` },
      executable: false,
    },
    ...Object.entries(own.bin).map(([command, program]) => ({
      path: `bin/${command}`,
      from: { text: launcher(program) },
      executable: true,
    })),
  ];
}

/** Through links, so that one in a folder of PATH is enough. */
const launcher = (program: string): string =>
  `#!/bin/sh\nexec node "$(dirname "$(readlink -f "$0")")/../${program}" "$@"\n`;

/** What tsc makes of a source; a leftover of a removed one is never looked at. */
function compiled(root: string, source: string): string[] {
  const stem = join('dist', source.slice(0, -'.ts'.length));
  const files = [`${stem}.js`, `${stem}.d.ts`];
  for (const file of files) {
    if (existsSync(join(root, file))) continue;
    throw new SpikedError(
      'ERR_FILE_NOT_FOUND',
      `${file}: expected a built file, found none: run npm run build:ts`,
    );
  }
  return files;
}

function filesUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(root, path) : [path];
    })
    .filter((path) => !left.test(path));
}
