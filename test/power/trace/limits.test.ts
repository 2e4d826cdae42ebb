import { join } from 'node:path';
import { openTrace } from '../../../power/trace/reader.js';
import { collect } from '../helpers/traces.js';
import { assert, root, run, suite, tempDir } from '../../tools/suite.js';

const test = suite('traces at their limits');
const base = tempDir();
const child = (name: string): string => join(root, 'dist/test/power/trace/children', name);

/** A million is 28 h at 10 Hz, and some 200 MiB if they were all held. */
const count = process.env['SPIKED_TEST_LONG'] === '1' ? 5_000_000 : 1_000_000;

test(`${String(count)} samples go through a heap of 40 MiB`, async () => {
  const { code, stdout, stderr } = await run(
    process.execPath,
    ['--max-old-space-size=40', child('stream.js'), join(base, 'large'), String(count)],
    { timeoutMs: 300_000 },
  );
  assert.is(code, 0, stderr.slice(0, 2000));
  const found = JSON.parse(stdout) as Record<string, number>;
  assert.is(found['samples'], count);
  assert.is(found['in_range'], 100);
  // 10 W and the mean of 0 to 1.6 W, for 0.1 s each.
  const mean = 10 + 0.8;
  assert.ok(Math.abs((found['joules'] ?? 0) / (mean * 0.1 * count) - 1) < 1e-6);
  assert.ok(Math.abs((found['period_s'] ?? 0) - 0.1) < 1e-9);
});

test('a full disk ends the recording in order: whole lines are kept, and it says how many', async () => {
  const dir = join(base, 'full');
  // A limit on the size of a file cuts a write off in the middle, as a full disk does; units of 512 bytes.
  const { code, stdout, stderr } = await run(
    'sh',
    ['-c', 'ulimit -f 16; exec "$@"', 'sh', process.execPath, child('write-until-full.js'), dir],
    { timeoutMs: 60_000 },
  );
  assert.is(code, 0, stderr);
  const { told, taken, closed } = JSON.parse(stdout) as { told: string[]; taken: number; closed: string };
  assert.is(closed, 'ERR_FILE_IO');
  assert.is(told.length, 1);
  const match =
    /^ERR_FILE_IO: .*: expected to write the trace, found a limit on the size of files; .* (\d+) samples are kept$/.exec(
      told[0] ?? '',
    );
  const kept = Number(match?.[1]);
  const read = await openTrace(dir);
  assert.is(read.torn, null);
  assert.is(read.header.end, undefined, 'it was cut off, and says so');
  const samples = await collect(read.samples());
  assert.is(samples.length, kept);
  assert.ok(kept > 200 && kept < taken, `${String(kept)} of ${String(taken)}`);
  assert.ok(samples.every(({ tNs, watts }, i) => tNs === BigInt(i + 1) * 1_000_000_000n && watts === 10.3));
});

test.run();
