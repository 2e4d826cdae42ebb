import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, suite, tempDir } from '../tools/suite.js';
import { SpikedError } from '../../client/protocol/errors.js';
import { addon } from '../../native/host/addon.js';
import type { NativeEngine } from '../../native/host/addon-types.js';
import { encode, type Draft, type DraftTensor } from './gguf-draft.js';
import { tinyModel, type TinyOptions } from './tiny-model.js';

const test = suite('hostile model files');
const folder = tempDir();
let engine: NativeEngine;
test.before(() => {
  engine = addon().openEngine({ threads: 1 });
});
test.after(() => {
  engine.close();
});

async function open(bytes: Buffer): Promise<SpikedError | undefined> {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, bytes);
  try {
    (await engine.openModel(path)).close();
    return undefined;
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
}

const tensor = (d: Draft, name: string): DraftTensor => {
  const t = d.tensors.find((x) => x.name === name);
  if (t === undefined) throw new Error(`the tiny model has no tensor ${name}`);
  return t;
};
const own = (d: Draft, key: string, value: number): void => {
  d.metadata.set(`symboliclight.${key}`, { type: 'u32', value });
};
const up = 'blocks.0.ffn.up.weight';
const down = 'blocks.1.ffn.down.weight';

test('the unbent models load', async () => {
  const variants: TinyOptions[] = [
    {},
    { weights: 'int8' },
    { weights: 'int4mix' },
    { weights: 'int4mix', vocab: 97, dim: 192, heads: 4, ffn: 70 },
    { layoutPlan: 'mixed' },
    { layoutPlan: 'row' },
    { layoutPlan: 'column' },
    { form: '194m' },
    { form: '194m', sparseAttn: false },
    { sparseAttn: false },
    { dynamicPrior: false },
    { vocab: 97, dim: 36, heads: 3, ffn: 70 },
  ];
  for (const v of variants) assert.is((await open(encode(tinyModel(v))))?.message, undefined);
});

interface Case {
  what: string;
  options?: TinyOptions;
  bend: (d: Draft) => void;
  code: string;
  says: RegExp;
}

const cases: Case[] = [
  {
    what: 'bad magic',
    bend: (d) => (d.magic = 'GGML'),
    code: 'ERR_MODEL_INVALID',
    says: /expected magic "GGUF"/,
  },
  {
    what: 'version 2',
    bend: (d) => (d.version = 2),
    code: 'ERR_MODEL_INVALID',
    says: /expected GGUF version 3, found 2/,
  },
  { what: 'big endian', bend: (d) => (d.version = 0x03000000), code: 'ERR_MODEL_INVALID', says: /version/ },
  {
    what: 'a huge tensor count',
    bend: (d) => (d.tensorCount = 1n << 62n),
    code: 'ERR_MODEL_INVALID',
    says: /4611686018427387904 tensors do not fit/,
  },
  {
    what: 'a huge metadata count',
    bend: (d) => (d.metadataCount = (1n << 64n) - 1n),
    code: 'ERR_MODEL_INVALID',
    says: /do not fit a file/,
  },
  {
    what: 'dims whose product wraps',
    bend: (d) => (tensor(d, up).dims = [1n << 33n, 1n << 33n]),
    code: 'ERR_MODEL_INVALID',
    says: /overflows/,
  },
  {
    what: 'a dim of 0',
    bend: (d) => (tensor(d, up).dims = [32n, 0n]),
    code: 'ERR_MODEL_INVALID',
    says: /dim 1 is 0/,
  },
  {
    what: 'an offset past the end',
    bend: (d) => (tensor(d, up).offset = 1n << 40n),
    code: 'ERR_MODEL_INVALID',
    says: /ffn\.up\.weight": expected \d+ bytes at offset/,
  },
  {
    what: 'an offset that wraps',
    bend: (d) => (tensor(d, up).offset = (1n << 64n) - 64n),
    code: 'ERR_MODEL_INVALID',
    says: /at offset/,
  },
  {
    what: 'an unaligned offset',
    bend: (d) => (tensor(d, up).offset = 4n),
    code: 'ERR_MODEL_INVALID',
    says: /no multiple of the alignment/,
  },
  {
    what: 'overlapping tensors',
    bend: (d) => (tensor(d, up).offset = 64n),
    code: 'ERR_MODEL_INVALID',
    says: /overlap/,
  },
  {
    what: 'a tensor that stands twice',
    bend: (d) => (tensor(d, up).name = down),
    code: 'ERR_MODEL_INVALID',
    says: /stands twice/,
  },
  {
    what: 'an unknown type',
    bend: (d) => (tensor(d, up).type = 99),
    code: 'ERR_MODEL_INVALID',
    says: /type 99 is unknown/,
  },
  {
    what: 'another known type',
    bend: (d) => (tensor(d, up).type = 26),
    code: 'ERR_MODEL_TENSOR',
    says: /expected type F32, found I32/,
  },
  {
    what: 'a missing tensor',
    bend: (d) => void d.tensors.splice(d.tensors.indexOf(tensor(d, up)), 1),
    code: 'ERR_MODEL_TENSOR',
    says: /ffn\.up\.weight": expected shape \[40, 24\], found no such tensor/,
  },
  {
    what: 'an extra tensor',
    bend: (d) =>
      void d.tensors.push({ name: 'blocks.0.ffn.up.bias', type: 0, dims: [40n], data: Buffer.alloc(160) }),
    code: 'ERR_MODEL_TENSOR',
    says: /up\.bias": is no tensor of this configuration/,
  },
  {
    what: 'a wrong logical shape',
    bend: (d) => d.metadata.set(`symboliclight.shape.${up}`, { type: 'u64[]', value: [24, 40] }),
    code: 'ERR_MODEL_TENSOR',
    says: /expected shape \[40, 24\], found \[24, 40\]/,
  },
  {
    what: 'transposed dims',
    bend: (d) => tensor(d, up).dims.reverse(),
    code: 'ERR_MODEL_TENSOR',
    says: /expected stored dims \[32, 40\], found \[40, 32\]/,
  },
  {
    what: 'a wrong layout',
    bend: (d) => d.metadata.set(`symboliclight.layout.${down}`, { type: 'string', value: 'panel_4x32' }),
    code: 'ERR_MODEL_TENSOR',
    says: /expected layout column_major, found panel_4x32/,
  },
  {
    what: 'no layout',
    bend: (d) => d.metadata.delete(`symboliclight.layout.${down}`),
    code: 'ERR_MODEL_INVALID',
    says: /symboliclight\.layout\.blocks\.1\.ffn\.down\.weight" is missing/,
  },
  {
    what: 'a scale of the transposed orientation',
    options: { weights: 'int8' },
    bend: (d) => d.metadata.set(`symboliclight.scale_shape.${down}`, { type: 'u64[]', value: [40] }),
    code: 'ERR_MODEL_TENSOR',
    says: /expected scale shape \[24\] \(one an output\), found \[40\]/,
  },
  {
    what: 'a scale tensor of the wrong length',
    options: { weights: 'int8' },
    bend: (d) => (tensor(d, `${down}.scale`).dims = [40n]),
    code: 'ERR_MODEL_TENSOR',
    says: /down\.weight\.scale": expected F32 \[64\], found F32 \[40\]/,
  },
  {
    what: 'a missing scale',
    options: { weights: 'int8' },
    bend: (d) => void d.tensors.splice(d.tensors.indexOf(tensor(d, `${down}.scale`)), 1),
    code: 'ERR_MODEL_TENSOR',
    says: /expected the scale of an I8 tensor/,
  },
  {
    what: 'a scale tensor of the transposed orientation, of the right length',
    options: { weights: 'int8' },
    bend: (d) => {
      // 24 rows and 40 columns both round up to 64.
      const { data } = tensor(d, `${down}.scale`);
      for (let i = 0; i < 40; i++) data.writeFloatLE(0.01, 4 * i);
    },
    code: 'ERR_MODEL_TENSOR',
    says: /down\.weight\.scale": expected 24 scales and zeros behind them, found 0\.01 at index 24/,
  },
  {
    what: 'a scale tensor of the transposed orientation, too short, in panels',
    options: { weights: 'int8' },
    bend: (d) => void tensor(d, `${up}.scale`).data.fill(0, 24 * 4),
    code: 'ERR_MODEL_TENSOR',
    says: /up\.weight\.scale": expected finite positive values, found 0 at index 24/,
  },
  {
    what: 'a transposed scale shape of as many elements',
    options: { weights: 'int4mix', dim: 192, ffn: 32, heads: 4 },
    bend: (d) => {
      // [32 out, 6 groups] transposed.
      d.metadata.set(`symboliclight.scale_shape.${up}`, { type: 'u64[]', value: [6, 32] });
    },
    code: 'ERR_MODEL_TENSOR',
    says: /up\.weight": expected scale shape \[32, 6\] \(one an output and group of 32 inputs\), found \[6, 32\]/,
  },
  {
    what: 'a scale shape that counts the groups of the wrong side',
    options: { weights: 'int4mix' },
    bend: (d) => d.metadata.set(`symboliclight.scale_shape.${up}`, { type: 'u64[]', value: [24, 2] }),
    code: 'ERR_MODEL_TENSOR',
    says: /expected scale shape \[40, 1\] .*, found \[24, 2\]/,
  },
  {
    what: 'a scale shape of INT8 on 4-bit panels',
    options: { weights: 'int4mix' },
    bend: (d) => d.metadata.set(`symboliclight.scale_shape.${up}`, { type: 'u64[]', value: [40] }),
    code: 'ERR_MODEL_TENSOR',
    says: /expected scale shape \[40, 1\] .*, found \[40\]/,
  },
  {
    what: 'no scale shape on 4-bit panels',
    options: { weights: 'int4mix' },
    bend: (d) => d.metadata.delete(`symboliclight.scale_shape.${up}`),
    code: 'ERR_MODEL_INVALID',
    says: /symboliclight\.scale_shape\.blocks\.0\.ffn\.up\.weight" is missing/,
  },
  {
    what: '4-bit panels of transposed dims',
    options: { weights: 'int4mix' },
    bend: (d) => tensor(d, up).dims.reverse(),
    code: 'ERR_MODEL_TENSOR',
    says: /expected stored dims \[128, 10\], found \[10, 128\]/,
  },
  {
    what: '4-bit panels of the transposed shape',
    options: { weights: 'int4mix' },
    bend: (d) => d.metadata.set(`symboliclight.shape.${up}`, { type: 'u64[]', value: [24, 40] }),
    code: 'ERR_MODEL_TENSOR',
    says: /expected shape \[40, 24\], found \[24, 40\]/,
  },
  {
    what: '4-bit panels cut by one',
    options: { weights: 'int4mix' },
    bend: (d) => {
      const t = tensor(d, up);
      [t.dims, t.data] = [[128n, 9n], t.data.subarray(0, 128 * 9)];
    },
    code: 'ERR_MODEL_TENSOR',
    says: /expected stored dims \[128, 10\], found \[128, 9\]/,
  },
  {
    what: '4-bit panels declared F32',
    options: { weights: 'int4mix' },
    bend: (d) => {
      const t = tensor(d, up);
      [t.type, t.dims] = [0, [32n, 10n]];
    },
    code: 'ERR_MODEL_TENSOR',
    says: /expected type I8, found F32/,
  },
  {
    what: 'int8 panels in an int4mix model',
    options: { weights: 'int8' },
    bend: (d) => d.metadata.set('symboliclight.weights', { type: 'string', value: 'int4mix' }),
    code: 'ERR_MODEL_TENSOR',
    says: /out_proj\.weight": expected layout panel_4x32_i4, found panel_4x32/,
  },
  {
    what: 'a 4-bit scale tensor beside its panels',
    options: { weights: 'int4mix' },
    bend: (d) => void d.tensors.push({ name: `${up}.scale`, type: 0, dims: [40n], data: Buffer.alloc(160) }),
    code: 'ERR_MODEL_TENSOR',
    says: /up\.weight\.scale": is no tensor of this configuration/,
  },
  {
    what: 'a binary-input scale of zero in an int4mix model',
    options: { weights: 'int4mix' },
    bend: (d) => void tensor(d, `${down}.scale`).data.writeFloatLE(0, 4),
    code: 'ERR_MODEL_TENSOR',
    says: /found 0 at index 1/,
  },
  {
    what: 'an unknown weight format',
    bend: (d) => d.metadata.set('symboliclight.weights', { type: 'string', value: 'int4' }),
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /weights": expected "f32", "int8" or "int4mix", found "int4"/,
  },
  {
    what: 'an unknown layout plan',
    bend: (d) => d.metadata.set('symboliclight.layout_plan', { type: 'string', value: 'diagonal' }),
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /layout_plan": expected "mixed", "row" or "column", found "diagonal"/,
  },
  {
    what: 'a layout plan of the wrong type',
    bend: (d) => {
      own(d, 'layout_plan', 1);
    },
    code: 'ERR_MODEL_INVALID',
    says: /layout_plan": expected type string, found u32/,
  },
  {
    what: 'a layout plan with int8 weights',
    options: { weights: 'int8', layoutPlan: 'row' },
    bend: () => undefined,
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /layout_plan": expected "mixed" for weights that are not f32, found "row"/,
  },
  {
    what: 'a layout plan with int4mix weights',
    options: { weights: 'int4mix', layoutPlan: 'column' },
    bend: () => undefined,
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /layout_plan": expected "mixed" for weights that are not f32, found "column"/,
  },
  {
    what: 'a layout that is not of the plan',
    bend: (d) => d.metadata.set('symboliclight.layout_plan', { type: 'string', value: 'row' }),
    code: 'ERR_MODEL_TENSOR',
    says: /tcam_proj\.weight": expected layout panel_4x32, found column_major/,
  },
  {
    what: 'a NaN scale',
    options: { weights: 'int8' },
    bend: (d) => void tensor(d, `${up}.scale`).data.writeFloatLE(NaN, 8),
    code: 'ERR_MODEL_TENSOR',
    says: /expected finite positive values, found -?nan at index 2/,
  },
  {
    what: 'an infinite scale',
    options: { weights: 'int8' },
    bend: (d) => void tensor(d, `${up}.scale`).data.writeFloatLE(Infinity, 0),
    code: 'ERR_MODEL_TENSOR',
    says: /found inf at index 0/,
  },
  {
    what: 'a scale of zero',
    options: { weights: 'int8' },
    bend: (d) => void tensor(d, `${up}.scale`).data.writeFloatLE(0, 4),
    code: 'ERR_MODEL_TENSOR',
    says: /found 0 at index 1/,
  },
  {
    what: 'a NaN norm',
    bend: (d) => void tensor(d, 'spike_encoder.norm.bias').data.writeFloatLE(NaN, 4),
    code: 'ERR_MODEL_TENSOR',
    says: /spike_encoder\.norm\.bias": expected finite values/,
  },
  {
    what: 'another architecture',
    bend: (d) => d.metadata.set('general.architecture', { type: 'string', value: 'llama' }),
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /expected architecture "symboliclight", "bitnet-b1\.58" or "bitnet-25", found "llama"/,
  },
  {
    what: 'another format version',
    bend: (d) => {
      own(d, 'format_version', 7);
    },
    code: 'ERR_MODEL_VERSION',
    says: /expected format version 1, found 7; export the checkpoint again with `spikectl export`/,
  },
  {
    what: 'a missing key',
    bend: (d) => d.metadata.delete('symboliclight.n_heads'),
    code: 'ERR_MODEL_INVALID',
    says: /symboliclight\.n_heads" is missing/,
  },
  {
    what: 'a key of the wrong type',
    bend: (d) => d.metadata.set('symboliclight.n_heads', { type: 'f32', value: 2 }),
    code: 'ERR_MODEL_INVALID',
    says: /expected type u32, found f32/,
  },
  {
    what: 'heads that do not fill the width',
    bend: (d) => {
      own(d, 'n_heads', 3);
    },
    code: 'ERR_MODEL_INVALID',
    says: /n_heads \* head_dim = embed_dim, found 3 \* 12 and 24/,
  },
  {
    what: 'no layers',
    bend: (d) => {
      own(d, 'n_layers', 0);
    },
    code: 'ERR_MODEL_INVALID',
    says: /n_layers": expected 1 to/,
  },
  {
    what: 'a layer too many',
    bend: (d) => {
      own(d, 'n_layers', 3);
    },
    code: 'ERR_MODEL_TENSOR',
    says: /blocks\.2\./,
  },
  {
    what: 'an absurd window',
    bend: (d) => {
      own(d, 'sparse_attn_window', 0xffffffff);
    },
    code: 'ERR_MODEL_INVALID',
    says: /sparse_attn_window": expected 0 to/,
  },
  {
    what: 'a tokenizer larger than the vocabulary',
    bend: (d) => {
      own(d, 'tokenizer_size', 97);
    },
    code: 'ERR_MODEL_INVALID',
    says: /the tokenizer has 97 ids, more than the vocabulary's 96/,
  },
  {
    what: 'an alignment of 0',
    bend: (d) => d.metadata.set('general.alignment', { type: 'u32', value: 0 }),
    code: 'ERR_MODEL_INVALID',
    says: /general\.alignment: expected a power of two/,
  },
  {
    what: 'an infinite threshold',
    bend: (d) => d.metadata.set('symboliclight.spike_threshold', { type: 'f32', value: Infinity }),
    code: 'ERR_MODEL_INVALID',
    says: /spike_threshold": expected a finite value/,
  },
];

for (const c of cases)
  test(`${c.what}: ${c.code}`, async () => {
    const draft = tinyModel(c.options);
    c.bend(draft);
    const error = await open(encode(draft));
    assert.is(error?.code, c.code, error?.message);
    assert.match(error?.message ?? '', c.says);
    assert.match(error?.message ?? '', /model\.gguf: /);
  });

for (const weights of ['int8', 'int4mix'] as const)
  test(`${weights}: a file cut anywhere is refused`, async () => {
    const whole = encode(tinyModel({ weights }));
    // The last tensor's padding is the only part that may be missing.
    for (let n = 0; n < whole.length - 64; n += n < 4096 ? 61 : 997) {
      const error = await open(whole.subarray(0, n));
      assert.ok(error !== undefined, `a file of ${n} of ${whole.length} bytes loaded`);
      assert.ok(['ERR_MODEL_INVALID', 'ERR_MODEL_TENSOR'].includes(error.code), error.code);
    }
  });

test('a missing file and a folder have errors of their own', async () => {
  for (const [path, code] of [
    [join(folder, 'nothing.gguf'), 'ERR_FILE_NOT_FOUND'],
    [folder, 'ERR_FILE_IO'],
  ] as const) {
    const error = await engine.openModel(path).then(
      () => undefined,
      (e: unknown) => e,
    );
    assert.is((error as SpikedError).code, code);
    assert.match((error as SpikedError).message, /: expected a (readable|regular) file/);
  }
});

test.run();
