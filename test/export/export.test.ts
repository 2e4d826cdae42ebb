import { exportModel, type ExportOptions } from '../../export/export.js';
import type { Packer } from '../../export/packer.js';
import { TensorPacker } from '../../export/symboliclight/pack.js';
import { storedTensor } from '../../export/symboliclight/stored-tensor.js';
import type { SourceTensor } from '../../export/symboliclight/tensors.js';
import type { CheckpointTensor } from '../../export/tensor.js';
import { assert, suite } from '../tools/suite.js';
import { checkContainer, readModelFile, unpack, type ModelFile } from './helpers/model-file.js';
import { readAll, withCheckpoint } from './helpers/reads.js';
import { quantised, referencePacker, rowScale } from './helpers/reference-packer.js';
import { quantiseI4 } from '../tensor/packing.js';
import { weightFormats, type Weights } from '../../export/symboliclight/storage-plan.js';
import { tinyConfig, tinyModel, type TinyOptions } from './helpers/tiny-model.js';
import { scratchFolder, torchBytes } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('export');
test.after(() => folder.remove());

const variants: [name: string, options: TinyOptions][] = [
  ['0.8b', {}],
  ['0.8b stored as bf16', { dtype: 'bf16' }],
  ['0.8b without sparse attention', { config: { enable_sparse_attn: false } }],
  ['0.8b without dynamic prior', { config: { enable_dynamic_prior: false } }],
  ['0.8b with a window of 0, which counts as 1', { config: { sparse_attn_window: 0 } }],
  ['194m', { form: '194m' }],
  ['194m without sparse attention', { form: '194m', config: { enable_sparse_attn: false } }],
];

async function exported(
  options: TinyOptions,
  rest: Partial<ExportOptions> = {},
): Promise<[checkpoint: string, file: ModelFile]> {
  const checkpoint = folder.write('model.pt', torchBytes(tinyModel(options)));
  const out = folder.path('model.gguf');
  await exportModel({ checkpoint, out, weights: 'f32', ...rest });
  return [checkpoint, await readModelFile(out)];
}

function same(found: Float32Array, expected: Float32Array, what: string): void {
  assert.is(found.length, expected.length, what);
  const at = found.findIndex((value, i) => value !== expected[i]);
  assert.is(at, -1, `${what} ${at}: expected ${expected[at] ?? ''}, found ${found[at] ?? ''}`);
}

/** Every tensor of the file holds the checkpoint's values, as they are or quantised per row of its logical shape. */
async function checkWeights(path: string, file: ModelFile, weights: Weights): Promise<void> {
  const expected = new Set<string>();
  await withCheckpoint(path, async (checkpoint) => {
    for (const source of checkpoint.tensors.values()) {
      if (source.name.endsWith('_cached_mask')) continue;
      expected.add(source.name);
      const wanted = await readAll(source);
      const { values, scale } = unpack(file, source.name);
      const isLinear = source.shape.length === 2 && !source.name.includes('embedding');
      const isBinary = /tcam_proj|ffn\.down/.test(source.name);
      const isI8 = isLinear && (weights === 'int8' || (weights === 'int4mix' && isBinary));
      assert.is(scale !== undefined, isI8, source.name);
      if (scale === undefined && isLinear && weights === 'int4mix')
        same(values, quantiseI4(wanted, source.shape[1] ?? 0).values, `${source.name}: element`);
      else if (scale === undefined) same(values, wanted, `${source.name}: element`);
      else {
        expected.add(`${source.name}.scale`);
        const cols = source.shape[1] ?? 0;
        const scales = scale.map((_, r) => rowScale(wanted.subarray(r * cols, (r + 1) * cols)));
        same(scale, scales, `${source.name}: scale of row`);
        same(
          values,
          wanted.map((value, i) => quantised(value, scales[Math.floor(i / cols)] ?? 1)),
          `${source.name}: element`,
        );
      }
    }
  });
  assert.equal([...file.tensors.keys()].sort(), [...expected].sort());
}

for (const [name, options] of variants)
  for (const weights of weightFormats)
    test(`${name}, ${weights}: another reader finds every tensor, packed as declared`, async () => {
      const [checkpoint, file] = await exported(options, { weights });
      checkContainer(file);
      await checkWeights(checkpoint, file, weights);
      const [, reference] = await exported(options, { weights, packer: referencePacker });
      assert.ok(
        file.bytes.equals(reference.bytes),
        "the engine's packer and the format's text agree to the byte",
      );
    });

test('metadata says what the configuration said', async () => {
  const [, { metadata }] = await exported({ form: '194m' }, { weights: 'int8', name: 'Tiny' });
  assert.is(metadata['general.architecture'], 'symboliclight');
  assert.is(metadata['general.name'], 'Tiny');
  assert.is(metadata['general.alignment'], 64);
  const own = (key: string) => metadata[`symboliclight.${key}`];
  assert.is(own('format_version'), 1);
  assert.is(own('form'), '194m');
  assert.is(own('weights'), 'int8');
  const { rope_theta: _theta, frontend_mode: _mode, leak_factor, ...stored } = tinyConfig;
  for (const [key, value] of Object.entries(stored)) assert.is(own(key), value, key);
  assert.is(own('leak_factor'), Math.fround(leak_factor));
  assert.is(own('tokenizer_size'), tinyConfig.vocab_size);
  assert.is(metadata['tokenizer.sentencepiece.model'], undefined);
  assert.is(own('layout.blocks.0.ffn.up.weight'), 'panel_4x32');
  assert.is(own('layout.blocks.0.ffn.down.weight'), 'column_major');
  assert.is(own('layout.output_head.output_proj.weight'), 'panel_4x32');
  assert.is(own('layout.blocks.1.tcam.tcam_proj.weight'), 'column_major');
  assert.is(own('layout.spike_encoder.frontend.text_embedding.weight'), 'row_major');
});

test('a scale indexed by the wrong dimension of a matrix that is not square is caught', async () => {
  const transposed: Packer = {
    ...referencePacker,
    pack(dtype, layout, source, rows, cols, into) {
      const packed = referencePacker.pack(dtype, layout, source, rows, cols, into);
      if (packed.scale === null) return packed;
      const columns = Float32Array.from({ length: rows }, (_, r) => {
        const column = Float32Array.from({ length: rows }, (_row, i) => source[i * cols + (r % cols)] ?? 0);
        return rowScale(column);
      });
      packed.scale.set(columns);
      return packed;
    },
  };
  const [checkpoint, file] = await exported({}, { weights: 'int8', packer: transposed });
  checkContainer(file);
  const message = await checkWeights(checkpoint, file, 'int8').then(
    () => 'not caught',
    (error: unknown) => (error as Error).message,
  );
  assert.match(message, /scale of row 0/);
});

test('a matrix read in many blocks is the same file as one packed whole', async () => {
  const config = {
    vocab_size: 300,
    embed_dim: 132,
    n_heads: 2,
    head_dim: 66,
    intermediate_dim: 9001,
    n_layers: 1,
  };
  const shapes: [number, number][] = [];
  const recording: Packer = {
    ...referencePacker,
    pack(dtype, layout, source, rows, cols, into) {
      shapes.push([rows, cols]);
      return referencePacker.pack(dtype, layout, source, rows, cols, into);
    },
  };
  const [checkpoint, file] = await exported({ config }, { weights: 'int8', packer: recording });
  const blocksOf = (cols: number) => shapes.filter((shape) => shape[1] === cols).map(([rows]) => rows);
  assert.equal(blocksOf(9001), [64, 64, 4], 'ffn.down, column-major');
  assert.equal(
    blocksOf(132).filter((rows) => rows > 300),
    [1984, 1984, 1984, 1984, 1065],
    'ffn.up, in panels',
  );
  checkContainer(file);
  await checkWeights(checkpoint, file, 'int8');
});

test('columns gathered in many passes are those gathered in one', async () => {
  const values = Float32Array.from({ length: 130 * 9 }, (_, i) => Math.sin(i));
  const shape = [130, 9];
  const source: CheckpointTensor = {
    name: 'w',
    dtype: 'f32',
    shape,
    readRows: (from, to) => Promise.resolve(values.slice(from * 9, to * 9)),
  };
  const tensor: SourceTensor = { name: 'w', shape, role: 'binary', source };
  for (const weights of ['f32', 'int8'] as const) {
    const stored = storedTensor(tensor, { weights, layoutPlan: 'mixed' });
    assert.ok(stored);
    const gather = async (columnsBytes: number) => {
      const found: { sizes: number[]; data: Buffer[]; scale: number[] } = { sizes: [], data: [], scale: [] };
      const parts = new TensorPacker('x', referencePacker, columnsBytes).parts(
        stored,
        (scale) => void found.scale.push(...scale),
      );
      for await (const part of parts) {
        found.sizes.push(part.length);
        found.data.push(Buffer.from(part));
      }
      return { ...found, data: Buffer.concat(found.data) };
    };
    const columnBytes = 192 * (weights === 'f32' ? 4 : 1);
    const [whole, parts, single] = [
      await gather(1 << 20),
      await gather(4 * columnBytes + 3),
      await gather(1),
    ];
    assert.equal(whole.sizes, [9 * columnBytes]);
    assert.equal(parts.sizes, [4 * columnBytes, 4 * columnBytes, columnBytes]);
    assert.is(single.sizes.length, 9);
    for (const { data, scale } of [parts, single]) assert.equal([data, scale], [whole.data, whole.scale]);
  }
});

test('progress ends at the size of the file', async () => {
  const seen: number[] = [];
  let total = 0;
  const [, file] = await exported(
    {},
    {
      onProgress: ({ writtenBytes, totalBytes }) => {
        seen.push(writtenBytes);
        total = totalBytes;
      },
    },
  );
  assert.equal(
    seen,
    [...seen].sort((a, b) => a - b),
  );
  assert.is(seen.at(-1), total);
  assert.is(total, file.bytes.length);
});

test.run();
