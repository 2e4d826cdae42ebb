import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { exportModel } from '../../export/export.js';
import { addon } from '../../native/host/index.js';
import { assert, root, suite } from '../tools/suite.js';
import { failureOf } from './helpers/reads.js';
import { tinyModel } from './helpers/tiny-model.js';
import { scratchFolder, torchBytes } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('an export cut short');
test.after(() => folder.remove());

const child = join(root, 'dist/test/export/helpers/export-child.js');
const checkpoint = folder.write('model.pt', torchBytes(tinyModel()));
const out = folder.path('model.gguf');
const leftovers = () => readdirSync(folder.path('.')).filter((name) => name.endsWith('.tmp'));

/** Starts an export and kills it once `tensor` is written. @returns the signal it died of */
async function killedAfter(tensor: string, signal: NodeJS.Signals): Promise<NodeJS.Signals | null> {
  const started = spawn(process.execPath, [child, checkpoint, out, 'int8', '60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(started, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  for await (const line of createInterface(started.stdout))
    if (line === `tensor ${tensor}`) started.kill(signal);
  return (await exit)[1];
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  test(`${signal} removes the temporary file, keeps the old output and ends the process`, async () => {
    writeFileSync(out, 'the old one');
    assert.is(await killedAfter('blocks.0.ffn.up.weight', signal), signal);
    assert.equal(leftovers(), []);
    assert.is(readFileSync(out, 'utf8'), 'the old one');
    rmSync(out);
  });

const moments = [
  'spike_encoder.frontend.text_embedding.weight',
  'blocks.1.tcam.out_proj.weight',
  'output_head.prior_net.2.weight',
];

for (const tensor of moments)
  test(`SIGKILL after ${tensor} leaves nothing that loads`, async () => {
    assert.is(await killedAfter(tensor, 'SIGKILL'), 'SIGKILL');
    assert.is(existsSync(out), false);
    const [left = ''] = leftovers();
    assert.ok(left !== '', 'the temporary file is left behind');
    const renamed = folder.path('left.gguf');
    copyFileSync(folder.path(left), renamed);
    await refusesToLoad(renamed);
    rmSync(folder.path(left));
  });

test('the file that a finished export gives does load', async () => {
  await exportModel({ checkpoint, out, weights: 'int8' });
  await load(out);
  const error = await failureOf(() => refusesToLoad(out)).catch((caught: unknown) => caught as Error);
  assert.match(error.message, /expected a SpikedError, found success/, 'and the check above can tell');
});

async function load(path: string): Promise<void> {
  const engine = addon().openEngine({ threads: 1 });
  try {
    (await engine.openModel(path)).close();
  } finally {
    engine.close();
  }
}

async function refusesToLoad(path: string): Promise<void> {
  const error = await failureOf(() => load(path));
  assert.is(error.code, 'ERR_MODEL_INVALID', error.message);
}

test.run();
