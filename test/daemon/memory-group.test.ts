/** A limit of the kernel's on memory: what would cross it is refused instead of being killed. */
import { spawn } from 'node:child_process';
import { copyFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from '../tensor/gguf-draft.js';
import { tinyModel } from '../tensor/tiny-model.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { memoryGroup } from './helpers/memory-group.js';
import { daemonProgram, DaemonProcess, killAll, socketPath } from './helpers/process.js';

const test = suite('memory group');
const folder = tempDir();
/** Its sessions are promised 41 MB each. */
const wide = join(folder, 'wide.gguf');
const huge = join(folder, 'huge.gguf');
const limitBytes = 300 * 2 ** 20;
const group = memoryGroup(limitBytes);
const reason = group ? undefined : 'no memory cgroup that this process may make';
const running: DaemonProcess[] = [];

function spawnInGroup(model: string): DaemonProcess {
  const path = socketPath();
  const program = [
    process.execPath,
    daemonProgram,
    '--socket',
    path,
    '--threads',
    '1',
    '--no-self-test',
    '--model',
    model,
  ];
  const child = spawn('sh', ['-c', group?.enter ?? '', 'sh', ...program], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const daemon = new DaemonProcess(child, path);
  running.push(daemon);
  return daemon;
}

test.before(() => {
  writeFileSync(
    wide,
    encode(tinyModel({ window: 20_000, dim: 64, layers: 4, tokenizerSize: 90, context: 5000 })),
  );
  copyFileSync(wide, huge);
  truncateSync(huge, 2 ** 30); // a hole: no disk is used
});
test.afterEach(() => killAll(running));
test.after(() => group?.remove());

test.needs(reason, 'a model beyond the limit is refused at the start, with the figures', async () => {
  const daemon = spawnInGroup(huge);
  assert.equal(await daemon.ended, { code: 3, signal: null }, daemon.stderr);
  assert.match(
    daemon.stderr,
    /ERR_RAM_BUDGET: .*huge\.gguf: needs \d+ bytes: .*, found \d+ of \d+ bytes in use/,
  );
});

test.needs(reason, 'sessions are refused before the kernel would kill', async () => {
  const daemon = spawnInGroup(wide);
  await daemon.ready();
  const client = await daemon.client();
  // The budget itself may be more: pages of Node's own file are in RSS, and charged to whoever read them first.
  const { budget_bytes: budget, reserved_bytes: reserved } = await client.serverMemory();
  const left = (budget ?? Infinity) - reserved;
  assert.ok(left > 0 && left < limitBytes, `${left} bytes left`);
  const opened = await Promise.allSettled(Array.from({ length: 12 }, () => client.openSession()));
  const refused = opened.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  assert.ok(refused.length > 0 && refused.length < 12, `${refused.length} of 12 refused`);
  for (const text of refused) assert.match(text, /needs \d+ bytes: .*bytes in use/);
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

test.run();
