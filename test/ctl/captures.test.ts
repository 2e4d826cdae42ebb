import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { assert, suite } from '../tools/suite.js';
import { scratch, synthModel } from './helpers/models.js';
import { failure, json, output, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl logits --capture, compare');
const ids = '5,6,7,8,9';
const vocabSize = 2048;
let model = '';
let reference = '';

test.before(async () => {
  model = await synthModel('captures');
  reference = await capture('reference');
});

async function capture(name: string, ...args: string[]): Promise<string> {
  const path = scratch(`${name}.safetensors`);
  await output(['logits', model, '--ids', ids, '--capture', path, ...args]);
  return path;
}

/** Where the logits begin, and the header before them. */
function layout(bytes: Buffer): { begin: number; header: string } {
  const end = 8 + Number(bytes.readBigUInt64LE());
  return { begin: end + 4 * 5, header: bytes.subarray(8, end).toString() };
}

/** A copy of the reference in which some logits, by position and id, are others. */
function changed(
  name: string,
  ...changes: { position: number; id: number; to: (x: number) => number }[]
): string {
  const bytes = readFileSync(reference);
  const { begin } = layout(bytes);
  for (const { position, id, to } of changes) {
    const at = begin + 4 * (position * vocabSize + id);
    bytes.writeFloatLE(to(bytes.readFloatLE(at)), at);
  }
  const path = scratch(`${name}.safetensors`);
  writeFileSync(path, bytes);
  return path;
}

/** Compares with the reference; exit status 3 is expected. */
async function different(path: string): Promise<Record<string, unknown>> {
  const { stdout, stderr, code } = await spikectl(['compare', reference, path, '--json']);
  assert.is(code, 3, stderr);
  assert.match(stderr, /^spikectl: ERR_CHECK_FAILED: /);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('a capture holds the ids, the logits and what they were computed from', async () => {
  const bytes = readFileSync(reference);
  const { begin, header } = layout(bytes);
  const { __metadata__: metadata, ...tensors } = JSON.parse(header) as Record<
    string,
    Record<string, unknown>
  >;
  assert.equal(tensors, {
    ids: { dtype: 'I32', shape: [5], data_offsets: [0, 20] },
    logits: { dtype: 'F32', shape: [5, vocabSize], data_offsets: [20, 20 + 5 * vocabSize * 4] },
  });
  assert.equal(
    new Int32Array(new Uint8Array(bytes.subarray(begin - 20, begin)).buffer),
    Int32Array.of(5, 6, 7, 8, 9),
  );
  const raw = scratch('raw.bin');
  await output(['logits', model, '--ids', ids, '-o', raw]);
  assert.ok(readFileSync(raw).equals(bytes.subarray(begin)));
  const { data_sha256 } = await json(['inspect', model]);
  assert.equal(
    [metadata?.['model_sha256'], metadata?.['model'], metadata?.['activations']],
    [data_sha256, 'synth-tiny-int8-1', 'f32'],
  );
});

test('the same bits from other batches and threads: exit status 0', async () => {
  const other = await capture('other', '--batch', '2', '--threads', '2');
  const found = await json(['compare', reference, other]);
  assert.equal(
    [
      found['equal'],
      found['different'],
      found['first'],
      found['max_abs'],
      found['nmse'],
      found['top1_agreement'],
    ],
    [true, 0, null, 0, 0, 1],
  );
  assert.match(await output(['compare', reference, other]), /^the same bits: 5 positions x 2048/);
});

test('one changed bit is found and named, even where the number is the same', async () => {
  const bytes = readFileSync(reference);
  const { begin } = layout(bytes);
  const at = begin + 4 * (3 * vocabSize + 17);
  bytes.writeUInt32LE((bytes.readUInt32LE(at) ^ 1) >>> 0, at);
  writeFileSync(scratch('bit.safetensors'), bytes);
  const found = await different(scratch('bit.safetensors'));
  const { position, id, a_bits: a, b_bits: b } = found['first'] as Record<string, string | number>;
  assert.equal([found['different'], position, id], [1, 3, 17]);
  assert.is(parseInt(String(a), 16) ^ parseInt(String(b), 16), 1);
  assert.match(
    (await spikectl(['compare', reference, scratch('bit.safetensors')])).stdout,
    /position 3, id 17/,
  );
  const zero = (name: string, value: number) => changed(name, { position: 0, id: 4, to: () => value });
  const { stdout, code } = await spikectl(['compare', zero('plus', 0), zero('minus', -0), '--json']);
  assert.is(code, 3);
  const signs = JSON.parse(stdout) as { max_abs: number; first: Record<string, unknown> };
  assert.equal([signs.max_abs, signs.first['a_bits'], signs.first['b_bits']], [0, '00000000', '80000000']);
});

test('errors, NMSE and the share of equal largest logits are what they should be', async () => {
  const bytes = readFileSync(reference);
  const { begin } = layout(bytes);
  const logits = Array.from({ length: 5 * vocabSize }, (_, i) => bytes.readFloatLE(begin + 4 * i));
  const lift = (x: number) => Math.fround(x + 100);
  const found = await different(
    changed(
      'lifted',
      { position: 1, id: 7, to: lift },
      { position: 4, id: 8, to: (x) => Math.fround(x - 0.5) },
    ),
  );
  const errors = [
    Math.abs(lift(logits[vocabSize + 7] ?? 0) - (logits[vocabSize + 7] ?? 0)),
    Math.abs(Math.fround((logits[4 * vocabSize + 8] ?? 0) - 0.5) - (logits[4 * vocabSize + 8] ?? 0)),
  ];
  const [first = 0, second = 0] = errors;
  const squares = logits.reduce((sum, x) => sum + x * x, 0);
  const near = (key: string, expected: number) =>
    assert.ok(
      Math.abs(Number(found[key]) / expected - 1) < 1e-9,
      `${key}: ${String(found[key])}, ${expected}`,
    );
  near('max_abs', first);
  near('mean_abs', (first + second) / logits.length);
  near('nmse', (first ** 2 + second ** 2) / squares);
  near('top1_agreement', 0.8);
  assert.equal([found['different'], found['not_finite']], [2, 0]);
});

test('a value that is not finite is counted, and no number that is not one gets into the JSON', async () => {
  const found = await different(changed('nan', { position: 2, id: 0, to: () => NaN }));
  const { b, b_bits: bits } = found['first'] as Record<string, unknown>;
  assert.equal([found['not_finite'], found['max_abs'], b, bits], [1, 0, null, '7fc00000']);
});

test('other ids, another vocabulary, another model and what is no capture are refused by name', async () => {
  const other = scratch('ids.safetensors');
  await output(['logits', model, '--ids', '5,6,7,8,10', '--capture', other]);
  const refused = (path: string, code = 'ERR_INVALID_ARGUMENT') =>
    failure(['compare', reference, path], 1, code);
  assert.match(await refused(other), /ids: position 4: expected 9 .* found 10/);
  await output(['logits', model, '--ids', '5,6', '--capture', other]);
  assert.match(await refused(other), /expected 5 positions .* found 2/);
  const ternary = scratch('ternary.gguf');
  await output(['synth', '--config', 'bitnet-tiny', '-o', ternary]);
  await output(['logits', ternary, '--ids', ids, '--capture', other]);
  assert.match(await refused(other), /vocabulary: expected 2048 .* found 1280/);
  const seeded = scratch('seeded.gguf');
  await output(['synth', '--config', 'tiny', '--seed', '2', '-o', seeded]);
  await output(['logits', seeded, '--ids', ids, '--capture', other]);
  assert.match(await refused(other), /model: SHA-256 .*--any-model/);
  assert.is((await spikectl(['compare', reference, other, '--any-model'])).code, 3);
  writeFileSync(other, readFileSync(reference).subarray(0, -1));
  await refused(other, 'ERR_CHECKPOINT_INVALID');
  const nothing = scratch('nothing.safetensors');
  writeFileSync(nothing, Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')]));
  assert.match(await refused(nothing, 'ERR_CHECKPOINT_TENSOR'), /"ids"/);
  await refused(scratch('absent'), 'ERR_FILE_NOT_FOUND');
  await failure(['logits', model, '--ids', '1,99999', '--capture', scratch('none')], 1, 'ERR_TOKEN_UNKNOWN');
  assert.not(existsSync(scratch('none')));
  await failure(['logits', model, '--ids', '1', '--capture', scratch('none'), '--sha256'], 2, 'ERR_USAGE');
});

test.run();
