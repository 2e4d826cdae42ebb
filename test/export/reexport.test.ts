/** Model files as checkpoints: what an export of an export holds. */
import { readFileSync, writeFileSync } from 'node:fs';
import { exportModel, type ExportOptions } from '../../export/export.js';
import { readTokenizer } from '../../export/tokenizer.js';
import { sentencePieceModel } from '../daemon/helpers/sentencepiece.js';
import { encode } from '../tensor/gguf-draft.js';
import { quantiseI4 } from '../tensor/packing.js';
import { tinyModel as tinyDraft } from '../tensor/tiny-model.js';
import { assert, suite } from '../tools/suite.js';
import { checkContainer, readModelFile, unpack, type ModelFile } from './helpers/model-file.js';
import { failureOf } from './helpers/reads.js';
import { quantised, rowScale } from './helpers/reference-packer.js';
import { tinyModel, type TinyOptions } from './helpers/tiny-model.js';
import { scratchFolder, torchBytes } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('exports of model files');
test.after(() => folder.remove());

const [first, second, third] = ['1', '2', '3'].map((n) => folder.path(`${n}.gguf`)) as [
  string,
  string,
  string,
];

type Storage = Pick<ExportOptions, 'weights' | 'layoutPlan'>;

async function fromCheckpoint(out: string, storage: Storage, options: TinyOptions = {}): Promise<ModelFile> {
  const checkpoint = folder.write('model.pt', torchBytes(tinyModel(options)));
  await exportModel({ checkpoint, out, name: 'Tiny', ...storage });
  return readModelFile(out);
}

async function fromModel(
  checkpoint: string,
  out: string,
  options: Partial<ExportOptions>,
): Promise<ModelFile> {
  await exportModel({ checkpoint, out, weights: 'f32', ...options });
  const file = await readModelFile(out);
  checkContainer(file);
  return file;
}

function same(found: Float32Array | undefined, expected: Float32Array | undefined, what: string): void {
  assert.is(found?.length, expected?.length, what);
  const at = found?.findIndex((value, i) => value !== expected?.[i]) ?? -1;
  assert.is(at, -1, `${what}: element ${at}`);
}

/** What an int8 tensor stands for, and its columns; undefined for one that has no scale. */
function dequantised(file: ModelFile, name: string): { values: Float32Array; cols: number } | undefined {
  const { values, scale } = unpack(file, name);
  if (scale === undefined) return undefined;
  const cols = values.length / scale.length;
  return { values: values.map((q, i) => q * (scale[Math.floor(i / cols)] ?? NaN)), cols };
}

function tensorNames(file: ModelFile): string[] {
  return [...file.tensors.keys()].filter((name) => !name.endsWith('.scale'));
}

const isBinary = (name: string): boolean => /tcam_proj|ffn\.down/.test(name);

/** Sizes that cross blocks of rows, panels, groups and blocks of groups. */
const large: TinyOptions = {
  config: { vocab_size: 300, embed_dim: 324, n_heads: 2, head_dim: 162, intermediate_dim: 2001, n_layers: 1 },
};
const variants: [string, TinyOptions][] = [
  ['0.8b', {}],
  ['194m', { form: '194m' }],
  ['194m without attention and prior', { form: '194m', config: { enable_sparse_attn: false, enable_dynamic_prior: false } }],
  ['0.8b with a window of 0', { config: { sparse_attn_window: 0 } }],
  ['wider than a block', large],
]; // prettier-ignore

const storages: Storage[] = [
  { weights: 'f32' },
  { weights: 'int8' },
  { weights: 'int4mix' },
  { weights: 'f32', layoutPlan: 'row' },
  { weights: 'f32', layoutPlan: 'column' },
];

for (const [name, options] of variants) {
  for (const storage of storages)
    test(`${name}: ${Object.values(storage).join(' in ')} again is the same file, to the bit`, async () => {
      const before = await fromCheckpoint(first, storage, options);
      const again = await fromModel(first, second, storage);
      assert.ok(again.bytes.equals(before.bytes));
    });

  test(`${name}: from any layout plan to the next is the file that the checkpoint gives`, async () => {
    const plans = ['mixed', 'row', 'column', 'mixed', 'column', 'row', 'mixed'] as const;
    await fromCheckpoint(first, { weights: 'f32' }, options);
    for (const [i, layoutPlan] of plans.entries()) {
      const [from, to] = i % 2 === 0 ? [first, second] : [second, first];
      const found = await fromModel(from, to, { layoutPlan });
      const expected = await fromCheckpoint(third, { weights: 'f32', layoutPlan }, options);
      assert.ok(found.bytes.equals(expected.bytes), `to ${layoutPlan}`);
    }
  });

  test(`${name}: int8 to f32 gives f32(q * scale)`, async () => {
    const int8 = await fromCheckpoint(first, { weights: 'int8' }, options);
    const f32 = await fromModel(first, second, {});
    for (const tensor of tensorNames(int8)) {
      const expected = dequantised(int8, tensor)?.values ?? unpack(int8, tensor).values;
      same(unpack(f32, tensor).values, expected, tensor);
    }
    assert.equal(tensorNames(int8), [...f32.tensors.keys()]);
  });

  test(`${name}: int8 to int4mix quantises the dequantised values, and keeps the binary inputs' codes`, async () => {
    const int8 = await fromCheckpoint(first, { weights: 'int8' }, options);
    const int4mix = await fromModel(first, second, { weights: 'int4mix' });
    for (const tensor of tensorNames(int8)) {
      const found = unpack(int4mix, tensor);
      const source = dequantised(int8, tensor);
      if (source === undefined || isBinary(tensor)) {
        const kept = unpack(int8, tensor);
        same(found.values, kept.values, tensor);
        same(found.scale, kept.scale, tensor);
      } else same(found.values, quantiseI4(source.values, source.cols).values, tensor);
    }
  });

  test(`${name}: int4mix to int8 and f32 quantises, and stores, what its codes stand for`, async () => {
    const int4mix = await fromCheckpoint(first, { weights: 'int4mix' }, options);
    const int8 = await fromModel(first, second, { weights: 'int8' });
    const f32 = await fromModel(first, third, { weights: 'f32' });
    for (const tensor of tensorNames(int4mix)) {
      const source = unpack(int4mix, tensor);
      same(unpack(f32, tensor).values, dequantised(int4mix, tensor)?.values ?? source.values, tensor);
      const { values, scale } = unpack(int8, tensor);
      if (scale === undefined || isBinary(tensor)) {
        same(values, source.values, tensor);
        same(scale, source.scale, tensor);
        continue;
      }
      const cols = values.length / scale.length;
      const scales = scale.map((_, r) => rowScale(source.values.subarray(r * cols, (r + 1) * cols)));
      same(scale, scales, tensor);
      const codes = source.values.map((value, i) => quantised(value, scales[Math.floor(i / cols)] ?? 1));
      same(values, codes, tensor);
    }
  });
}

test('tokenizer and name come along, and can be replaced', async () => {
  const config = { vocab_size: 400 };
  const tokenizer = folder.write('tokenizer.model', Buffer.from(sentencePieceModel()));
  const { size, bytes } = await readTokenizer(tokenizer);
  const checkpoint = folder.write('model.pt', torchBytes(tinyModel({ config })));
  await exportModel({ checkpoint, out: first, weights: 'int8', name: 'Tiny', tokenizer });
  const kept = (await fromModel(first, second, { weights: 'int4mix' })).metadata;
  assert.is(kept['general.name'], 'Tiny');
  assert.is(kept['symboliclight.tokenizer_size'], size);
  assert.equal(Buffer.from(kept['tokenizer.sentencepiece.model'] as number[]), bytes);
  await exportModel({ checkpoint, out: first, weights: 'int8' });
  const replaced = (await fromModel(first, second, { tokenizer, name: 'Other' })).metadata;
  assert.is(replaced['general.name'], 'Other');
  assert.is(replaced['symboliclight.tokenizer_size'], size);
  assert.equal(Buffer.from(replaced['tokenizer.sentencepiece.model'] as number[]), bytes);
});

test('a model file without a tokenizer keeps the number of ids that it declares', async () => {
  await fromCheckpoint(first, { weights: 'f32' });
  const { bytes } = await readModelFile(first);
  const key = Buffer.from('symboliclight.tokenizer_size');
  bytes.writeUInt32LE(30, bytes.indexOf(key) + key.length + 4);
  writeFileSync(first, bytes);
  assert.is((await fromModel(first, second, {})).metadata['symboliclight.tokenizer_size'], 30);
});

test('what is wrong with a model file is said, and nothing is written', async () => {
  const written = folder.path('none.gguf');
  const refused = async (checkpoint: string, options: Partial<ExportOptions>, code: string, says: RegExp) => {
    const error = await failureOf(() =>
      exportModel({ checkpoint, out: written, weights: 'int8', ...options }),
    );
    assert.is(error.code, code, error.message);
    assert.match(error.message, says);
    assert.throws(() => readFileSync(written), /ENOENT/);
  };
  const { bytes } = await fromCheckpoint(first, { weights: 'int4mix' });
  const bad = (change: (copy: Buffer) => void): string => {
    const copy = Buffer.from(bytes);
    change(copy);
    return folder.write('bad.gguf', copy);
  };
  const at = (name: string): number => {
    const position = file.tensors.get(name)?.position;
    if (position === undefined) throw new Error(`expected a tensor ${name}`);
    return position;
  };
  const file = await readModelFile(first);
  const up = 'blocks.0.ffn.up.weight';

  await refused(
    bad((copy) => void copy.writeUInt8(copy.readUInt8(at(up) + 70) ^ 1, at(up) + 70)),
    {},
    'ERR_CHECKPOINT_INVALID',
    /bad\.gguf: data: expected SHA-256 [0-9a-f]{64} as declared, found [0-9a-f]{64}$/,
  );
  await refused(folder.write('bad.gguf', bytes.subarray(0, 3000)), {}, 'ERR_MODEL_INVALID', /bad\.gguf: /);
  await refused(
    bad((copy) => void copy.write('symbolicdark', copy.indexOf('symboliclight'), 'latin1')),
    {},
    'ERR_MODEL_UNSUPPORTED',
    /expected architecture "symboliclight"/,
  );
  const draft = tinyDraft({ weights: 'int8' });
  draft.tensors.splice(3, 1);
  await refused(folder.write('bad.gguf', encode(draft)), {}, 'ERR_MODEL_TENSOR', /no such tensor/);
  await refused(first, { configPath: first }, 'ERR_INVALID_ARGUMENT', /expected no configuration beside/);
  for (const layoutPlan of ['row', 'column'] as const)
    await refused(first, { layoutPlan }, 'ERR_INVALID_ARGUMENT', /expected f32 weights, found int8/);
  const same = await failureOf(() => exportModel({ checkpoint: first, out: first, weights: 'int8' }));
  assert.is(same.code, 'ERR_INVALID_ARGUMENT');
  assert.ok((await readModelFile(first)).bytes.equals(bytes));
});

test('a scale inside 4-bit panels that is not finite is refused, also where the codes are copied', async () => {
  const { createHash } = await import('node:crypto');
  const { bytes, dataPosition, tensors, metadata } = await fromCheckpoint(first, { weights: 'int4mix' });
  bytes.writeUInt16LE(0x7c00, (tensors.get('blocks.1.ffn.up.weight')?.position ?? NaN) + 2); // row 1
  const digest = createHash('sha256').update(bytes.subarray(dataPosition)).digest('hex');
  bytes.write(digest, bytes.indexOf(metadata['symboliclight.data_sha256'] as string), 'latin1');
  writeFileSync(first, bytes);
  for (const weights of ['int4mix', 'int8', 'f32'] as const) {
    const error = await failureOf(() => exportModel({ checkpoint: first, out: second, weights }));
    assert.is(error.code, 'ERR_CHECKPOINT_TENSOR');
    assert.match(
      error.message,
      /1\.gguf: tensor "blocks\.1\.ffn\.up\.weight": expected .*, found (-?Infinity|NaN) at \[1, /,
    );
  }
});

test("a weight too large for INT4's scales is named with its place", async () => {
  const checkpoint = tinyModel({ fill: (_name, n) => [Buffer.from(new Float32Array(n).fill(0.5).buffer)] });
  const [, spec] = checkpoint.tensors.find(([name]) => name === 'blocks.1.ffn.up.weight') ?? [];
  const values = new Float32Array(70 * 12).fill(0.5);
  values[67 * 12 + 3] = -458529;
  checkpoint.storages.set(spec?.key ?? '', [Buffer.from(values.buffer)]);
  const path = folder.write('model.pt', torchBytes(checkpoint));
  const error = await failureOf(() => exportModel({ checkpoint: path, out: second, weights: 'int4mix' }));
  assert.is(error.code, 'ERR_CHECKPOINT_TENSOR');
  assert.match(
    error.message,
    /tensor "blocks\.1\.ffn\.up\.weight": expected values of at most 458528 for INT4's f16 scales, found -458529 at \[67, 3\]$/,
  );
  values[67 * 12 + 3] = -458528;
  folder.write('model.pt', torchBytes(checkpoint));
  await exportModel({ checkpoint: path, out: second, weights: 'int4mix' });
});

test.run();
