import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, root, suite } from '../tools/suite.js';
import { scratch, synthModel } from './helpers/models.js';
import { failure, output } from './helpers/spikectl.js';

const test = suite('spikectl logits');
const ids = Array.from({ length: 40 }, (_, i) => (i * 37 + 3) % 2048).join();
let model = '';

test.before(async () => {
  model = await synthModel('logits');
});

test('the digest does not depend on batch, threads or instruction set', async () => {
  const digest = (...args: string[]) => output(['logits', model, '--ids', ids, '--sha256', ...args]);
  const reference = await digest('--threads', '1', '--batch', '40');
  assert.match(reference, /^[0-9a-f]{64}\n$/);
  for (const args of [
    ['--batch', '1'],
    ['--batch', '7', '--threads', '3'],
    ['--threads', '2'],
  ])
    assert.is(await digest(...args), reference, args.join(' '));
  assert.is(
    await output(['logits', model, '--ids', ids, '--sha256'], { env: { SPIKED_FORCE_ISA: 'scalar' } }),
    reference,
  );
});

test('the last position that a ternary context lets in has the bits that it has in a longer one', async () => {
  const file = join(root, 'test/golden/bitnet/a_base/model.gguf');
  const n = 64;
  const ternary = Array.from({ length: n }, (_, i) => (i * 37 + 5) % 90).join();
  const digest = (context: number, kv: string) =>
    output(['logits', file, '--ids', ternary, '--sha256', '--context', String(context), '--kv', kv]);
  for (const kv of ['f32', 'f16']) assert.is(await digest(n, kv), await digest(2 * n, kv), kv);
});

test('-o writes every position, row-major f32, and nothing else', async () => {
  const file = scratch('logits.bin');
  await output(['logits', model, '--ids', ids, '-o', file, '--batch', '16']);
  const bytes = readFileSync(file);
  assert.is(bytes.length, 40 * 2048 * 4);
  const digest = createHash('sha256').update(bytes).digest('hex');
  assert.is(await output(['logits', model, '--ids', ids, '--sha256']), `${digest}\n`);
  const summary = await output(['logits', model, '--ids', ids]);
  const last = new Float32Array(bytes.buffer, bytes.byteOffset + 39 * 2048 * 4, 2048);
  const best = last.indexOf(Math.max(...last));
  assert.match(summary, new RegExp(`^ *${String(best)}  ${(last[best] ?? 0).toFixed(6)}$`, 'm'));
});

test('a bad id, a missing model and clashing options are refused', async () => {
  const file = scratch('none.bin');
  assert.match(
    await failure(['logits', model, '--ids', '1,2048', '-o', file], 1, 'ERR_TOKEN_UNKNOWN'),
    /2048/,
  );
  assert.not(existsSync(file));
  await failure(['logits', scratch('absent.gguf'), '--ids', '1'], 1, 'ERR_FILE_NOT_FOUND');
  await failure(['logits', model, '--ids', '1', '--sha256', '-o', file], 2, 'ERR_USAGE');
});

test.run();
