import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { exportModel, type ExportOptions } from '../../export/export.js';
import type { SpikedError } from '../../client/protocol/errors.js';
import { assert, suite } from '../tools/suite.js';
import { readModelFile } from './helpers/model-file.js';
import { failureOf } from './helpers/reads.js';
import { tinyConfig, tinyModel, type TinyModel, type TinyOptions } from './helpers/tiny-model.js';
import { f32Bytes, scratchFolder, torchBytes } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('what an export refuses');
test.after(() => folder.remove());

const out = folder.path('model.gguf');

function run(model: TinyModel, rest: Partial<ExportOptions> = {}): Promise<unknown> {
  const checkpoint = folder.write('model.pt', torchBytes(model));
  return exportModel({ checkpoint, out, weights: 'int8', ...rest });
}

/** Refused, with nothing left where the output would be. */
async function refusal(model: TinyModel, rest: Partial<ExportOptions> = {}): Promise<SpikedError> {
  const error = await failureOf(() => run(model, rest));
  assert.equal(
    readdirSync(folder.path('.')).filter((name) => name.includes('gguf')),
    [],
  );
  return error;
}

function changed(change: (model: TinyModel) => void, options: TinyOptions = {}): TinyModel {
  const model = tinyModel(options);
  change(model);
  return model;
}

function specOf(model: TinyModel, name: string) {
  const found = model.tensors.find(([key]) => key === name);
  assert.ok(found, name);
  return found[1];
}

for (const form of ['0.8b', '194m'] as const)
  test(`${form}: each tensor, when missing, is named with the shape expected`, async () => {
    const names = tinyModel({ form }).tensors.map(([name]) => name);
    for (const name of names) {
      const error = await refusal(
        changed((model) => (model.tensors = model.tensors.filter(([key]) => key !== name)), { form }),
      );
      assert.is(error.code, 'ERR_CHECKPOINT_TENSOR', name);
      assert.ok(error.message.includes(`model.pt: tensor "${name}": expected shape [`), error.message);
      assert.match(error.message, /found no such tensor$/);
    }
  });

test('each tensor, when of another shape, is named with both shapes', async () => {
  for (const [name, { shape, elements }] of tinyModel().tensors) {
    const wrong = shape.length === 2 ? [shape[1] ?? 0, shape[0] ?? 0] : [1, elements];
    if (wrong.join() === shape.join()) continue;
    const error = await refusal(changed((model) => (specOf(model, name).shape = wrong)));
    assert.is(error.code, 'ERR_CHECKPOINT_TENSOR');
    const [expected, found] = [shape, wrong].map((dims) => `[${dims.join(', ')}]`);
    assert.is(
      error.message,
      `${folder.path('model.pt')}: tensor "${name}": expected shape ${expected}, found ${found}`,
    );
  }
});

test('a tensor too many, and one of the other form', async () => {
  const extra = await refusal(
    changed((model) => model.tensors.push(['head.bias', specOf(model, 'spike_encoder.norm.bias')])),
  );
  assert.is(extra.code, 'ERR_CHECKPOINT_TENSOR');
  assert.match(
    extra.message,
    /tensor "head\.bias": expected no such tensor in a 0\.8b model, found one of shape \[12\]/,
  );
  const mask = await refusal(
    changed(
      (model) =>
        model.tensors.push([
          'blocks.0.tcam.sparse_attn._cached_mask',
          specOf(model, 'spike_encoder.norm.bias'),
        ]),
      { form: '194m' },
    ),
  );
  assert.match(mask.message, /_cached_mask": expected no such tensor in a 194m model/);
});

test('elements of a type that cannot be a weight', async () => {
  const ints = await refusal(
    changed((model) => {
      specOf(model, 'spike_encoder.norm.bias').dtype = 'i64';
      model.storages.set('2', [Buffer.alloc(96)]);
    }),
  );
  assert.match(
    ints.message,
    /tensor "spike_encoder\.norm\.bias": expected element type f32, f16, bf16 or bool, found i64/,
  );
  const bools = await refusal(
    changed((model) => {
      specOf(model, 'spike_encoder.norm.bias').dtype = 'bool';
      model.storages.set('2', [Buffer.alloc(12)]);
    }),
  );
  assert.match(
    bools.message,
    /tensor "spike_encoder\.norm\.bias": expected f32, f16 or bf16 elements, found bool/,
  );
});

test('values that are not finite, by tensor, row and column', async () => {
  const at = (name: string, place: number, value: number) =>
    changed((model) => {
      const { key, elements } = specOf(model, name);
      const values = new Float32Array(elements);
      values[place] = value;
      model.storages.set(key, [f32Bytes(values)]);
    });
  const cases: [name: string, place: number, value: number, found: string][] = [
    ['blocks.1.ffn.up.weight', 12 * 68 + 5, NaN, 'found NaN at [68, 5]'],
    ['blocks.0.ffn.down.weight', 71, -Infinity, 'found -Infinity at [1, 1]'],
    ['spike_encoder.frontend.text_embedding.weight', 0, Infinity, 'found Infinity at [0, 0]'],
    ['blocks.0.tcam.decay_raw', 1, NaN, 'found NaN at [1]'],
    ['output_head.prior_weight', 0, NaN, 'found NaN at [0]'],
  ];
  for (const [name, place, value, found] of cases) {
    const error = await refusal(at(name, place, value));
    assert.is(error.code, 'ERR_CHECKPOINT_TENSOR');
    assert.is(
      error.message,
      `${folder.path('model.pt')}: tensor "${name}": expected finite values, ${found}`,
    );
  }
});

test('a stored mask that says something else than the configuration', async () => {
  const flipped = await refusal(
    changed((model) => {
      const { key } = specOf(model, 'blocks.1.tcam.sparse_attn._cached_mask');
      const [bytes] = model.storages.get(key) ?? [];
      assert.ok(bytes);
      bytes[9 * 7 + 3] = 1 - (bytes[9 * 7 + 3] ?? 0);
    }),
  );
  assert.is(flipped.code, 'ERR_CHECKPOINT_TENSOR');
  assert.match(
    flipped.message,
    /blocks\.1\.tcam\.sparse_attn\._cached_mask": query 7, key 3: expected false for a window of 3 and 1 anchors, found true/,
  );
  const window = await refusal(
    changed((model) => (model.config = { ...model.config, sparse_attn_window: 4 })),
  );
  assert.match(
    window.message,
    /blocks\.0\.tcam\.sparse_attn\._cached_mask": query 5, key 1: expected true for a window of 4/,
  );
});

test('each configuration key, when missing or wrong, is named', async () => {
  const without = (key: string) =>
    refusal(
      changed((model) => {
        model.config = Object.fromEntries(
          Object.entries(model.config ?? {}).filter(([name]) => name !== key),
        );
      }),
    );
  for (const key of Object.keys(tinyConfig).filter(
    (name) => !['rope_theta', 'frontend_mode'].includes(name),
  )) {
    const error = await without(key);
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(error.message, new RegExp(`model\\.pt: config "${key}": expected .*, found no such key`));
  }
  const wrong: [config: TinyOptions['config'], found: RegExp][] = [
    [{ n_layers: 0 }, /config "n_layers": expected an integer from 1 to 1024, found 0/],
    [{ n_layers: 4_000_000_000 }, /config "n_layers": expected an integer from 1 to 1024, found 4000000000/],
    [{ vocab_size: 'many' }, /config "vocab_size": expected an integer from 1 to \d+, found many/],
    [{ embed_dim: 12.5 }, /config "embed_dim": expected an integer/],
    [{ sparse_attn_window: -1 }, /config "sparse_attn_window": expected an integer from 0/],
    [{ head_dim: 5 }, /config "embed_dim": expected n_heads \* head_dim = 10, found 12/],
    [{ n_heads: 4, head_dim: 3 }, /config "head_dim": expected an even number, found 3/],
    [{ spike_threshold: NaN }, /config "spike_threshold": expected a finite number, found NaN/],
    [{ leak_factor: 1e300 }, /config "leak_factor": expected a finite number/],
    [{ enable_sparse_attn: 1 }, /config "enable_sparse_attn": expected true or false, found 1/],
    [{ enable_dynamic_prior: null }, /config "enable_dynamic_prior": expected true or false, found null/],
  ];
  for (const [config, found] of wrong) {
    const error = await refusal(changed((model) => (model.config = { ...model.config, ...config })));
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(error.message, found);
  }
});

const piece = Buffer.from([0x0a, 0x03, 0x0a, 0x01, 0x61]);
const pieces = (count: number) =>
  Buffer.concat([...Array<Buffer>(count).fill(piece), Buffer.from([0x12, 0x02, 0x08, 0x01])]);

test('a tokenizer with more ids than the vocabulary, or that is none', async () => {
  const tokenizer = (bytes: Buffer) => ({ tokenizer: folder.write('tokenizer.model', bytes) });
  const large = await refusal(tinyModel(), tokenizer(pieces(38)));
  assert.is(large.code, 'ERR_TOKENIZER_INVALID');
  assert.match(
    large.message,
    /tokenizer\.model: expected at most the model's vocabulary of 37 ids, found 38/,
  );
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('hello'),
    pieces(3).subarray(0, 13),
    Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
    Buffer.alloc(20, 0xff),
  ]) {
    const error = await refusal(tinyModel(), tokenizer(bytes));
    assert.is(error.code, 'ERR_TOKENIZER_INVALID', bytes.toString('hex'));
  }
  assert.is(
    (await refusal(tinyModel(), { tokenizer: folder.path('none.model') })).code,
    'ERR_FILE_NOT_FOUND',
  );
});

test('a fitting tokenizer travels inside with its size', async () => {
  for (const count of [37, 30]) {
    await run(tinyModel(), { tokenizer: folder.write('tokenizer.model', pieces(count)) });
    const { metadata } = await readModelFile(out);
    assert.equal(Buffer.from(metadata['tokenizer.sentencepiece.model'] as number[]), pieces(count));
    assert.is(metadata['symboliclight.tokenizer_size'], count);
  }
});

test('a failure keeps the file that was there, and an input is never overwritten', async () => {
  writeFileSync(out, 'the old one');
  const broken = changed((model) => model.storages.set('0', [Buffer.alloc(4 * 37 * 12, 0xff)]));
  const error = await failureOf(() => run(broken));
  assert.match(error.message, /expected finite values/);
  assert.is(readFileSync(out, 'utf8'), 'the old one');
  assert.equal(
    readdirSync(folder.path('.')).filter((name) => name.endsWith('.tmp')),
    [],
  );
  const onto = await failureOf(() => run(tinyModel(), { out: folder.path('model.pt') }));
  assert.is(onto.code, 'ERR_INVALID_ARGUMENT');
});

test('places where no file can be written', async () => {
  const missing = await failureOf(() => run(tinyModel(), { out: folder.path('no/model.gguf') }));
  assert.is(missing.code, 'ERR_FILE_NOT_FOUND');
  assert.match(missing.message, /no: no such file/);
  mkdirSync(folder.path('folder'));
  assert.is((await failureOf(() => run(tinyModel(), { out: folder.path('folder') }))).code, 'ERR_FILE_IO');
});

test.run();
