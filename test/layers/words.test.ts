import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, sourceFiles } from '../tools/paths.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('words');

/** The repository speaks of the product, never of the machine or the registry it was made with. */
const forbidden: readonly [what: string, pattern: RegExp][] = [
  ['a folder of some machine', /(?<![\w.~\-/])\/(?:home|root|work|mnt|Users|workspace|builds)\/[\w.-]/],
  ['a folder of some machine', /\/tmp\/[a-z]\//],
  [
    'a package host',
    /https?:\/\/[^\s/"'`)]*(?:registry|artifactory|nexus|verdaccio|mirror|pypi|proxy)[^\s"'`)]*/i,
  ],
  ['a package host', /"resolved":/],
  ['a private address', /https?:\/\/(?:10|127|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d/],
];
const binary = /\.(gguf|pt|bin|safetensors|model|png|gz|node)$/;

function wordFaults(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, i) =>
    forbidden.flatMap(([what, pattern]) => {
      const found = pattern.exec(line)?.[0];
      return found === undefined ? [] : [`${path}:${String(i + 1)}: ${what}: ${found}`];
    }),
  );
}

test('no file names a machine folder or a package host', () => {
  const self = 'test/layers/words.test.ts';
  const faults = sourceFiles()
    .filter((path) => path !== self && !binary.test(path))
    .flatMap((path) => wordFaults(path, readFileSync(join(root, path), 'utf8')));
  assert.equal(faults, []);
});

test('planted faults are reported, and paths of the product are not', () => {
  const bad = [
    'cd /builds/main',
    'see /tmp/q/x',
    '"/home/me/model.gguf"',
    'https://npm-mirror.example/uvu',
    '"resolved": "https://x/uvu.tgz"',
    'http://10.0.0.1:4873/uvu',
  ];
  for (const line of bad) assert.is(wordFaults('a', line).length > 0, true, line);
  const good = [
    '/run/spiked/spiked.sock',
    '/var/lib/spiked',
    'native/home/main',
    '/tmp/spiked-1/s',
    '../mnt/main',
  ];
  for (const line of good) assert.equal(wordFaults('a', line), [], line);
});

test.run();
