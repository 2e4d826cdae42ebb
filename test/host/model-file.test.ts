/** Descriptions, tokenizer bytes and digests of model files. */
import { createHash } from 'node:crypto';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/addon.js';
import { digestModel } from '../../native/host/model-digest.js';
import { describeModel, readFileBytes } from '../../native/host/model-file.js';
import { openTokenizer } from '../../native/host/tokenizer.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { modelFile } from '../session/runs.js';
import { failureOf } from './helpers/failure.js';
import { tinyTokenizer } from './helpers/tiny-tokenizer.js';

const test = suite('model file');
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('describes configuration and tensors', async () => {
  const path = modelFile({ weights: 'int8', dim: 24, ffn: 40 });
  const file = await describeModel(path);
  assert.is(file.path, path);
  assert.is(file.sizeBytes, readFileSync(path).length);
  assert.equal([file.version, file.alignment, file.dataOffsetBytes % 64], [3, 64, 0]);
  assert.equal(file.metadata.get('symboliclight.embed_dim'), {
    key: 'symboliclight.embed_dim',
    type: 'u32',
    value: 24,
  });
  const down = file.tensors.find(({ name }) => name === 'blocks.1.ffn.down.weight');
  assert.ok(down, 'no such tensor');
  const { shape, layout, scaleShape, dims, type, sizeBytes } = down;
  assert.equal(
    { shape, layout, scaleShape, dims, type, sizeBytes },
    {
      shape: [24, 40],
      layout: 'column_major',
      scaleShape: [24],
      dims: [64, 40],
      type: 'I8',
      sizeBytes: 64 * 40,
    },
  );
  assert.is(file.tokenizer, undefined);
});

test('the tokenizer inside a model opens from its bytes, by the file or by the loaded model', async () => {
  const model = tinyTokenizer();
  const path = modelFile({ vocab: 320, tokenizer: model, tokenizerSize: 276 });
  const file = await describeModel(path);
  assert.ok(file.tokenizer, 'no tokenizer found');
  const bytes = await readFileBytes(path, file.tokenizer);
  assert.equal(Buffer.from(bytes), Buffer.from(model));
  const engine = addon().openEngine({ threads: 1 });
  const loaded = await engine.openModel(path);
  assert.equal(loaded.info.tokenizer, file.tokenizer);
  loaded.close();
  engine.close();
  const tokenizer = await openTokenizer(bytes);
  assert.is(tokenizer.pieces.size, 276);
  await tokenizer.close();
});

test('digests are those of the bytes, and tell a changed file', async () => {
  const path = modelFile({});
  const bytes = readFileSync(path);
  const file = await describeModel(path);
  let countedBytes = 0;
  const digest = await digestModel(file, (count) => (countedBytes += count));
  assert.is(digest.dataSha256, sha256(bytes.subarray(file.dataOffsetBytes)));
  assert.is(countedBytes, bytes.length - file.dataOffsetBytes);
  assert.is(digest.tensorSha256.size, file.tensors.length);
  for (const { name, offsetBytes, sizeBytes } of file.tensors)
    assert.is(
      digest.tensorSha256.get(name),
      sha256(bytes.subarray(offsetBytes, offsetBytes + sizeBytes)),
      name,
    );

  assert.is(digest.matches, false, 'the tiny model declares zeros');
  const declared = Buffer.from(digest.dataSha256);
  const at = bytes.indexOf('0'.repeat(64));
  declared.copy(bytes, at);
  const honest = join(tempDir(), 'honest.gguf');
  writeFileSync(honest, bytes);
  assert.is((await digestModel(await describeModel(honest))).matches, true);
  bytes[bytes.length - 70] = (bytes[bytes.length - 70] ?? 0) ^ 1;
  writeFileSync(honest, bytes);
  assert.is((await digestModel(await describeModel(honest))).matches, false);
});

test('a file larger than a read is digested across the seams', async () => {
  const path = modelFile({ dim: 128, heads: 4, ffn: 1024, layers: 3, vocab: 2048 });
  const bytes = readFileSync(path);
  assert.ok(bytes.length > 3 << 20, 'too small to have seams');
  const file = await describeModel(path);
  const digest = await digestModel(file);
  assert.is(digest.dataSha256, sha256(bytes.subarray(file.dataOffsetBytes)));
  for (const { name, offsetBytes, sizeBytes } of file.tensors)
    assert.is(
      digest.tensorSha256.get(name),
      sha256(bytes.subarray(offsetBytes, offsetBytes + sizeBytes)),
      name,
    );
});

test('a file that shrank since, or is no model, is named', async () => {
  const path = modelFile({});
  const file = await describeModel(path);
  truncateSync(path, file.sizeBytes - 64);
  for (const call of [
    () => digestModel(file),
    () => readFileBytes(path, { offsetBytes: file.sizeBytes - 100, sizeBytes: 100 }),
  ]) {
    const error = await failureOf(call);
    assert.is(error.code, 'ERR_MODEL_FILE_CHANGED');
    assert.ok(error.message.startsWith(`${path}: expected ${file.sizeBytes} bytes`), error.message);
  }
  assert.is((await failureOf(() => describeModel(path))).code, 'ERR_MODEL_INVALID');
  assert.is((await failureOf(() => describeModel(`${path}.not`))).code, 'ERR_FILE_NOT_FOUND');
  assert.is(
    (await failureOf(() => readFileBytes(`${path}.not`, { offsetBytes: 0, sizeBytes: 1 }))).code,
    'ERR_FILE_IO',
  );
});

test.run();
