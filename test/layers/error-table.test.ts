import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '../../client/protocol/errors.js';
import { root, sourceFiles } from '../tools/paths.js';
import { compiler } from '../tools/compiler.js';
import { assert, run, suite } from '../tools/suite.js';
import {
  readDef,
  readDocs,
  readPreprocessed,
  tableFaults,
  unknownCodes,
  type ErrorEntry,
} from './error-table.js';

const test = suite('error table');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const source = readDef(read('native/base/errors.def'));
const typed: ErrorEntry[] = Object.entries(errorTable).map(([code, row]) => ({ code, ...row }));
const docs = readDocs(read('docs/errors.md'));

test('errors.def has every one of its rows, each number and code once', () => {
  assert.is(source.length, read('native/base/errors.def').match(/^SPIKED_ERROR\(/gm)?.length);
  assert.ok(source.length > 0);
  for (const key of ['code', 'number'] as const)
    assert.is(new Set(source.map((row) => row[key])).size, source.length, `${key} used twice`);
});

test('client/protocol/errors.ts and docs/errors.md list the same rows', () => {
  assert.equal(tableFaults(source, { name: 'errors.ts', entries: typed }), []);
  assert.equal(tableFaults(source, { name: 'errors.md', entries: docs }), []);
});

test('capi/spiked.h gives each code its number', async () => {
  const result = await run(
    compiler(),
    ['-x', 'c', '-std=c11', '-E', '-P', '-I', 'native', 'native/capi/spiked.h'],
    {
      cwd: root,
    },
  );
  assert.is(result.code, 0, result.stderr);
  assert.equal(
    [...readPreprocessed(result.stdout)].sort(),
    source.map(({ code, number }): [string, number] => [code, number]).sort(),
  );
});

/** Names that begin like a code of ours and are none: placeholders of the docs, and Node's own. */
const foreign =
  /^ERR_(CODE|X|MODULE_NOT_FOUND|SOCKET_CLOSED|STREAM_\w+|INVALID_ARG_TYPE|PARSE_ARGS_\w+|USE_AFTER_CLOSE)$/;

test('every code that a source names is in the table', () => {
  const known = new Set(source.map(({ code }) => code));
  const faults = sourceFiles()
    .filter((path) => /\.(ts|h|cpp|def|md)$/.test(path) && !path.startsWith('test/layers/'))
    .flatMap((path) => unknownCodes(read(path), known).map((code) => `${path}: ${code}`))
    .filter((line) => !foreign.test(line.split(': ')[1] ?? ''));
  assert.equal(faults, []);
});

test('planted faults are reported', () => {
  const first = source[0];
  if (first === undefined) throw new Error('errors.def is empty');
  const list = (entries: ErrorEntry[]) => tableFaults(source, { name: 'copy', entries });
  assert.equal(list(source), []);
  assert.equal(list(source.slice(1)), [`copy: ${first.code} is missing`]);
  assert.equal(list([...source, { ...first, code: 'ERR_X' }]), ['copy: ERR_X is not in errors.def']);
  for (const change of [{ number: 7 }, { retry: 'sometimes' }, { meaning: 'else' }])
    assert.is(list([{ ...first, ...change }, ...source.slice(1)]).length, 1);
  assert.equal(unknownCodes('throw ERR_X; SPIKED_ERR_USAGE', new Set(['ERR_USAGE'])), ['ERR_X']);
});

test.run();
