/** What messages call a setting: as whoever gave it called it. */
import { readCommandLine } from '../../daemon/command-line.js';
import { combine } from '../../daemon/config-file.js';
import { readConfig, settings } from '../../daemon/config.js';
import { optionOf, namesOf } from '../../daemon/setting-names.js';
import type { GivenOptions } from '../../daemon/config.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('setting names');

/** The message for a command line, beside a file of these settings. */
function mistake(args: string[], fromFile: GivenOptions = {}): string {
  const config = Object.keys(fromFile).length === 0 ? [] : ['--config', '/etc/c.json'];
  const { options, configPath } = readCommandLine(['node', 'spiked', ...config, ...args], () => '1');
  try {
    readConfig(combine({ models: ['m'], ...fromFile }, options), namesOf(options, configPath));
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing';
}

test('a value of the command line is named by its option', () => {
  const cases: [args: string[], text: string][] = [
    [['--threads', '0'], '--threads: expected a number at least 1, found 0'],
    [['--context', '0'], '--context: expected a number at least 1, found 0'],
    [['--socket-mode', '9'], '--socket-mode: expected an octal mode such as "0660", found "9"'],
    [['--drain-ms', '86400001'], '--drain-ms: expected a number at most 86400000, found 86400001'],
    [['--prefix-cache', '9999999'], '--prefix-cache: expected a number at most 1048576, found 9999999'],
    [
      ['--allow-uid', '1', '--allow-uid', '4294967295'],
      '--allow-uid: expected a number at most 4294967294, ',
    ],
    [['--max-queue', '65537'], '--max-queue: expected a number at most 65536, found 65537'],
  ];
  for (const [args, text] of cases) {
    const found = mistake(args);
    assert.ok(found.startsWith(text), found);
    assert.is(mistake(args, { drainMs: 1, limits: { max_active: 1 } }), found, 'also beside a file');
  }
});

test('one of the file by file and key', () => {
  assert.is(
    mistake(['--max-active', '2'], { limits: { max_queue: -1 } }),
    '/etc/c.json: "limits"."max_queue": expected a number at least 0, found -1',
  );
  assert.is(
    mistake(['--threads', '1'], { drainMs: -1 }),
    '/etc/c.json: "drain_ms": expected a number at least 0, found -1',
  );
});

test('every setting with a value has an option', () => {
  const flags = ['loading', 'selfTest', 'limits'];
  assert.equal(
    Object.keys(settings.shape).filter((name) => !flags.includes(name)),
    Object.keys(optionOf).toSorted(
      (a, b) => Object.keys(settings.shape).indexOf(a) - Object.keys(settings.shape).indexOf(b),
    ),
  );
});

test.run();
