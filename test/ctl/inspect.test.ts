import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { assert, suite } from '../tools/suite.js';
import { encode } from '../tensor/gguf-draft.js';
import { tinyBitnet } from '../tensor/tiny-bitnet.js';
import { scratch, synthModel } from './helpers/models.js';
import { failure, json, output } from './helpers/spikectl.js';

const test = suite('spikectl inspect');
let model = '';

interface Tensor {
  name: string;
  type: string;
  shape: number[];
  layout: string;
  scale_shape: number[] | null;
  offset_bytes: number;
  size_bytes: number;
  sha256: string;
}

test.before(async () => {
  model = await synthModel('inspect');
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('digests are those of the bytes in the file', async () => {
  const found = await json(['inspect', model, '--verify']);
  const bytes = readFileSync(model);
  const offset = Number(found['data_offset_bytes']);
  assert.is(found['data_sha256'], sha256(bytes.subarray(offset)));
  assert.is(found['declared_sha256'], found['data_sha256']);
  assert.is(found['verified'], true);
  const tensors = found['tensors'] as Tensor[];
  assert.ok(tensors.length > 40);
  for (const { name, offset_bytes: from, size_bytes: size, sha256: digest } of tensors)
    assert.is(digest, sha256(bytes.subarray(from, from + size)), name);
});

test('an I2_S file states no layout, and is called unverified', async () => {
  const path = scratch('ternary.gguf');
  writeFileSync(path, encode(tinyBitnet()));
  const found = await json(['inspect', path]);
  assert.is(found['layout'], 'unverified');
  assert.is(found['declared_sha256'], null);
  const product = (found['tensors'] as Tensor[]).find(({ name }) => name === 'blk.1.ffn_down.weight');
  assert.equal([product?.type, product?.shape, product?.layout], ['I2_S', null, null]);
  assert.is(product?.size_bytes, (128 * 256) / 4 + 32);
  const text = await output(['inspect', path]);
  assert.match(text, /blk\.1\.ffn_down\.weight +I2_S +\[128, 256\]/);
  assert.match(text, /layout unverified: this is no published file/);
  assert.is((await json(['inspect', model]))['layout'], 'stated');
  await failure(['inspect', path, '--verify'], 1, 'ERR_MODEL_INVALID');
});

test('tensors show logical shape, layout and scale', async () => {
  const { tensors } = (await json(['inspect', model])) as unknown as { tensors: Tensor[] };
  const down = tensors.find(({ name }) => name === 'blocks.0.ffn.down.weight');
  assert.equal(
    [down?.type, down?.shape, down?.layout, down?.scale_shape],
    ['I8', [132, 410], 'column_major', [132]],
  );
  const text = await output(['inspect', model]);
  assert.match(text, /blocks\.0\.ffn\.up\.weight +I8 +\[410, 132\] +panel_4x32 +\[410\]/);
  assert.match(text, /symboliclight\.embed_dim +132/);
});

test('--verify finds one changed byte and exits 3', async () => {
  const changed = scratch('changed.gguf');
  const bytes = readFileSync(model);
  bytes[bytes.length - 200] = (bytes[bytes.length - 200] ?? 0) ^ 1;
  writeFileSync(changed, bytes);
  assert.match(await failure(['inspect', changed, '--verify'], 3, 'ERR_CHECK_FAILED'), /expected SHA-256/);
  assert.match(await output(['inspect', changed]), /NOT as declared/);
});

test('a file that is no model is refused', async () => {
  const cut = scratch('cut.gguf');
  copyFileSync(model, cut);
  truncateSync(cut, 1000);
  await failure(['inspect', cut], 1, 'ERR_MODEL_INVALID');
  await failure(['inspect', scratch('absent.gguf')], 1, 'ERR_FILE_NOT_FOUND');
});

test.run();
