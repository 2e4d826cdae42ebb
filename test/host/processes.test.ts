/** Whole processes and worker threads: collection, several environments, and every way to leave. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { assert, root, run, suite } from '../tools/suite.js';
import { modelFile } from '../session/runs.js';

const test = suite('addon processes');
const child = (name: string): string => join(root, 'dist/test/host/children', `${name}.js`);

test('sessions, models and engines that nobody closed are freed by collection', async () => {
  const path = modelFile({ layers: 4, dim: 96, heads: 3, ffn: 768, window: 64 });
  const result = await run(process.execPath, ['--expose-gc', child('collect'), path], { timeoutMs: 120_000 });
  assert.is(result.code, 0, result.stderr);
  const found = JSON.parse(result.stdout) as Record<string, number | boolean>;
  assert.ok(Number(found['heldMib']) > 200, `too little to tell: ${result.stdout}`);
  assert.ok(Number(found['grownMib']) < Number(found['heldMib']) / 4, result.stdout);
  assert.is(found['mapped'], false, 'the model is still mapped');
  assert.is(found['engineThreads'], 0);
});

function start(
  path: string,
  endless?: 'forward' | 'generate',
): { worker: Worker; message: Promise<unknown>; code: Promise<unknown> } {
  const worker = new Worker(child('worker'), { workerData: { path, endless } });
  const message = new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return { worker, message, code: new Promise((resolve) => worker.once('exit', resolve)) };
}

test('worker threads compute side by side, each with its own engine', async () => {
  const path = modelFile({});
  const workers = Array.from({ length: 4 }, () => start(path));
  const digests = await Promise.all(workers.map(({ message }) => message));
  assert.is(new Set(digests).size, 1);
  assert.equal(await Promise.all(workers.map(({ code }) => code)), [0, 0, 0, 0]);
});

for (const what of ['forward', 'generate'] as const) {
  test(`a worker can be terminated in the middle of a ${what}, again and again`, async () => {
    const path = modelFile({ layers: 4, dim: 96, heads: 3, ffn: 768 });
    for (let i = 0; i < 60; i++) {
      const { worker, message } = start(path, what);
      await message;
      // Fine steps: a result that is under way when JavaScript ends once ended the process.
      const until = performance.now() + (i % 30) * 0.4;
      while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
      assert.is(await worker.terminate(), 1);
    }
  });
}

for (const how of ['idle', 'awaited', 'abrupt', 'generating']) {
  test(`a process leaves cleanly: ${how}`, async () => {
    const path = modelFile({ layers: 4, dim: 96, heads: 3, ffn: 768 });
    const result = await run(process.execPath, [child('leave'), path, how], { timeoutMs: 60_000 });
    assert.equal(
      { code: result.code, signal: result.signal, stdout: result.stdout, stderr: result.stderr },
      { code: 0, signal: null, stdout: 'done\n', stderr: '' },
    );
  });
}

test.run();
