import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, sourceFiles } from '../tools/paths.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { arrowFaults } from './arrows.js';
import { rooms } from './rooms.js';

const test = suite('rooms');

function dependencies(): Set<string> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  return new Set(Object.keys(manifest.dependencies));
}

test('every include and import is an arrow of the table', () => {
  const files = sourceFiles();
  assert.ok(files.some((f) => f.startsWith('native/base/')) && files.some((f) => f.startsWith('client/')));
  assert.equal(arrowFaults(root, files, dependencies()), []);
});

/** A tree with one planted fault a file. */
const planted: Record<string, { text: string; fault: RegExp | undefined }> = {
  'native/base/status.h': { text: '', fault: undefined },
  'native/ops/linear.h': { text: '#include "base/status.h"\n', fault: undefined },
  'native/base/up.cpp': {
    text: '#include "ops/linear.h"\n',
    fault: /may not include native\/ops\/linear\.h/,
  },
  'native/capi/spiked.h': { text: '#include <stdint.h>\n', fault: undefined },
  'native/addon/deep.cpp': {
    text: '#  include "base/status.h"\n',
    fault: /may not include native\/base\/status\.h/,
  },
  'native/addon/fine.cpp': { text: '#include "capi/spiked.h"\n', fault: undefined },
  'native/kernels/dispatch.h': { text: '', fault: undefined },
  'native/kernels/kernels.h': { text: '', fault: undefined },
  'native/kernels/avx2/add.cpp': {
    text: '#include <immintrin.h>\n#include "kernels/kernels.h"\n',
    fault: undefined,
  },
  'native/kernels/avx2/shared.cpp': { text: '#include <vector>\n', fault: /<vector> may not be included/ },
  'native/kernels/neon/base.cpp': {
    text: '#include "base/status.h"\n',
    fault: /may not include native\/base/,
  },
  'native/kernels/neon/dispatch.cpp': { text: '#include "kernels/dispatch.h"\n', fault: /may not include/ },
  'native/tensor/gone.cpp': { text: '#include "tensor/gone.h"\n', fault: /is no file of the project/ },
  'client/protocol/errors.ts': { text: 'export const a = 1;\n', fault: undefined },
  'client/protocol/codec.ts': { text: "export * from './errors.js';\n", fault: undefined },
  'client/connect.ts': { text: "import { a } from './protocol/codec.js';\n", fault: undefined },
  'client/lazy.ts': {
    text: "await import('../daemon/main.js');\n",
    fault: /may not import daemon\/main\.ts/,
  },
  'daemon/main.ts': {
    text: "import type { a } from '../client/connect.js';\n",
    fault: /may not import client\/connect/,
  },
  'power/trace.ts': { text: "import { a } from '../client/protocol/errors.js';\n", fault: undefined },
  'power/wire.ts': {
    text: "export { a } from '../client/protocol/codec.js';\n",
    fault: /may not import client\/protocol/,
  },
  'native/host/index.ts': {
    text: "import { a } from '../../client/protocol/errors.js';\n",
    fault: undefined,
  },
  'export/write.ts': {
    text: "import { x } from 'left-pad';\n",
    fault: /left-pad is not in the dependencies/,
  },
  'export/fs.ts': { text: "import { x } from 'fs';\n", fault: /write node:fs/ },
  'attic/old.ts': { text: '', fault: /belongs to no room/ },
};

test('a planted fault is reported, and nothing else', () => {
  const base = tempDir();
  for (const [file, { text }] of Object.entries(planted)) {
    mkdirSync(join(base, dirname(file)), { recursive: true });
    writeFileSync(join(base, file), text);
  }
  const faults = arrowFaults(base, sourceFiles(base), new Set(['pino']));
  for (const [file, { fault }] of Object.entries(planted)) {
    const own = faults.filter((line) => line.startsWith(`${file}: `));
    assert.is(own.length, fault === undefined ? 0 : 1, `${file}: ${own.join('; ')}`);
    if (fault !== undefined) assert.match(own[0] ?? '', fault);
  }
});

/** Folders that docs/map.md has to name: the top ones, and those inside native/ and client/. */
function mappedFolders(files: readonly string[]): Set<string> {
  const folders = new Set<string>();
  for (const file of files) {
    const parts = file.split('/');
    const depth = parts[0] === 'native' || parts[0] === 'client' ? 2 : 1;
    if (parts.length > depth && !file.startsWith('.')) folders.add(parts.slice(0, depth).join('/'));
    if (parts[0] === 'client' && parts.length === 2) folders.add('client');
  }
  return folders;
}

test('docs/map.md lists every folder once, and no folder that is not there', () => {
  const text = readFileSync(join(root, 'docs/map.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)];
  const listed = rows.map((row) => row[1] ?? '').sort();
  const toCome = rows.filter((row) => row[2]?.endsWith('(to come)')).map((row) => row[1]);
  const folders = mappedFolders(sourceFiles());
  assert.equal([...new Set(listed)], listed);
  assert.equal(
    [...folders].filter((folder) => !listed.includes(folder)),
    [],
    'folders without a row',
  );
  assert.equal(
    listed.filter((folder) => folders.has(folder) === toCome.includes(folder)),
    [],
    'rows without a folder, or "(to come)" although it is there',
  );
});

test('the table names each room once', () => {
  const names = rooms.map(({ folder }) => folder);
  assert.is(new Set(names).size, names.length);
});

test.run();
