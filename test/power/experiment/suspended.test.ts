import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, missing, root, run, suite, tempDir } from '../../tools/suite.js';

const test = suite('suspend in an experiment');
const child = join(root, 'dist/test/power/experiment/children/suspended.js');
const uptime = join(tempDir(), 'uptime');

/** Runs a command in a namespace of its own, where the file stands in for /proc/uptime. */
const inNamespace = (...command: string[]) => {
  writeFileSync(uptime, '100.00 100.00\n');
  const mount = 'mount --bind "$1" /proc/uptime && shift && exec "$@"';
  return run(
    'unshare',
    ['--user', '--map-root-user', '--mount', 'sh', '-c', mount, 'sh', uptime, ...command],
    {
      timeoutMs: 60_000,
    },
  );
};

/** Why there is no such namespace here. */
async function noNamespace(): Promise<string | undefined> {
  const absent = missing('unshare', 'mount');
  if (absent !== undefined) return absent;
  const { code, stdout } = await inNamespace('cat', '/proc/uptime');
  return code === 0 && stdout.startsWith('100.00 ')
    ? undefined
    : 'no file that this process may mount over /proc/uptime';
}

test.needs(
  await noNamespace(),
  '5: a machine that slept in a run voids its block, which is done again whole',
  async () => {
    const { code, stdout, stderr } = await inNamespace(process.execPath, child, uptime);
    assert.is(code, 0, stderr);
    const found = JSON.parse(stdout) as {
      lines: string[];
      reasons: { text: string }[];
      remarks: string[];
      revived: string[];
    };
    assert.equal(
      found.lines.map((line) => line.replace(/ [ab]/, '')),
      ['1.0', '1.1 suspended', '1.0', '1.1', '1.2', '1.3'],
    );
    assert.match(found.reasons[0]?.text ?? '', /^The machine was suspended for 3\d{3}\.\d s/);
    assert.ok(
      found.remarks.some((text) => text.includes('block 1 is done again') && text.includes('suspended')),
    );
    assert.equal(found.revived, [], 'the daemons slept, too, and are well');
  },
);

test.run();
