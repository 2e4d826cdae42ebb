import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/addon.js';
import type {
  EngineOptions,
  NativeEngine,
  NativeModel,
  NativeSession,
} from '../../native/host/addon-types.js';
import { readTensors } from '../../client/ctl/golden/tensors.js';
import { SpikedError, type ErrorCode } from '../../client/protocol/errors.js';
import { assert, root, sharedDir, suite, tempDir } from '../tools/suite.js';
import { greedy } from '../session/runs.js';
import { encode, type Draft, type DraftTensor } from './gguf-draft.js';
import { tinyBitnet, type TinyBitnetOptions } from './tiny-bitnet.js';

const test = suite('hostile BitNet files');
const folder = tempDir();
const path = join(folder, 'model.gguf');
const layout = join(root, 'test/golden/bitnet/layout');
const shared = join(sharedDir() ?? 'shared', 'golden-bitnet/badfiles');
let engine: NativeEngine;
test.before(() => {
  engine = addon().openEngine({ threads: 1 });
});
test.after(() => {
  engine.close();
});

async function refusal(file: string): Promise<SpikedError | undefined> {
  try {
    (await engine.openModel(file)).close();
    return undefined;
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
}

async function open(bytes: Buffer): Promise<SpikedError | undefined> {
  writeFileSync(path, bytes);
  return refusal(path);
}

async function withModel<T>(
  file: string,
  options: EngineOptions,
  use: (model: NativeModel) => Promise<T>,
): Promise<T> {
  const own = addon().openEngine({ threads: 2, ...options });
  try {
    const model = await own.openModel(file);
    try {
      return await use(model);
    } finally {
      model.close();
    }
  } finally {
    own.close();
  }
}

async function failure(work: Promise<unknown>): Promise<SpikedError> {
  return work.then(
    () => {
      throw new Error('expected a failure, found a result');
    },
    (error: unknown) => error as SpikedError,
  );
}

const tensor = (d: Draft, name: string): DraftTensor => {
  const found = d.tensors.find((t) => t.name === name);
  if (found === undefined) throw new Error(`the tiny model has no tensor ${name}`);
  return found;
};
const drop = (d: Draft, name: string): void => {
  d.tensors = d.tensors.filter((t) => t.name !== name);
};
const number = (d: Draft, key: string, value: number): void => {
  d.metadata.set(`bitnet-b1.58.${key}`, { type: 'u32', value });
};
const float = (d: Draft, key: string, value: number): void => {
  d.metadata.set(`bitnet-b1.58.${key}`, { type: 'f32', value });
};
const q = 'blk.0.attn_q.weight';
const scaleAt = (t: DraftTensor): number => t.data.length - 32;

test('the unbent models load', async () => {
  const variants: TinyBitnetOptions[] = [
    {},
    { architecture: 'bitnet-25', output: true },
    { architecture: 'bitnet-25' },
    { output: true },
    { dim: 256, heads: 2, kvHeads: 1, ffn: 128, layers: 1 },
    { dim: 256, heads: 4, kvHeads: 4, vocab: 1 },
  ];
  for (const v of variants) assert.is((await open(encode(tinyBitnet(v))))?.message, undefined);
});

const bends: { name: string; code: ErrorCode; says: RegExp; bend: (d: Draft) => void }[] = [
  {
    name: 'code 3',
    code: 'ERR_MODEL_TENSOR',
    says: /tensor "blk\.0\.attn_q\.weight": expected 2-bit codes 0 to 2, found 3 in byte 4095/,
    bend: (d) => void (tensor(d, q).data[4095] = 0b01110000),
  },
  {
    name: 'a scale that is not finite',
    code: 'ERR_MODEL_TENSOR',
    says: /"blk\.0\.attn_q\.weight": expected a finite scale above 0, found inf/,
    bend: (d) => tensor(d, q).data.writeFloatLE(Infinity, scaleAt(tensor(d, q))),
  },
  {
    name: 'a negative scale',
    code: 'ERR_MODEL_TENSOR',
    says: /expected a finite scale above 0, found -1/,
    bend: (d) => tensor(d, q).data.writeFloatLE(-1, scaleAt(tensor(d, q))),
  },
  {
    name: 'a norm that is not finite',
    code: 'ERR_MODEL_TENSOR',
    says: /"blk\.1\.ffn_sub_norm\.weight": expected finite values, found nan at 7/,
    bend: (d) => tensor(d, 'blk.1.ffn_sub_norm.weight').data.writeFloatLE(NaN, 28),
  },
  {
    name: 'a missing tensor',
    code: 'ERR_MODEL_TENSOR',
    says: /"blk\.1\.attn_sub_norm\.weight": expected shape \[128\], found no such tensor/,
    bend: (d) => {
      drop(d, 'blk.1.attn_sub_norm.weight');
    },
  },
  {
    name: 'a tensor too many',
    code: 'ERR_MODEL_TENSOR',
    says: /"blk\.0\.attn_q\.bias": is no tensor of this configuration/,
    bend: (d) =>
      void d.tensors.push({ name: 'blk.0.attn_q.bias', type: 0, dims: [128n], data: Buffer.alloc(512) }),
  },
  {
    name: 'an embedding of another type',
    code: 'ERR_MODEL_TENSOR',
    says: /"token_embd\.weight": expected type F16, found F32/,
    bend: (d) => {
      const t = tensor(d, 'token_embd.weight');
      Object.assign(t, { type: 0, data: Buffer.alloc(t.data.length * 2) });
    },
  },
  {
    name: 'rows that do not fit the configuration',
    code: 'ERR_MODEL_TENSOR',
    says: /"blk\.0\.attn_q\.weight": expected shape \[128, 128\], found \[64, 256\]/,
    bend: (d) => Object.assign(tensor(d, q), { dims: [256n, 64n] }),
  },
  {
    name: 'dimensions whose product wraps to nothing',
    code: 'ERR_MODEL_INVALID',
    says: /"blk\.0\.attn_q\.weight"/,
    bend: (d) => Object.assign(tensor(d, q), { dims: [1n << 33n, 1n << 33n] }),
  },
  {
    name: 'dimensions whose bytes wrap with the scale',
    code: 'ERR_MODEL_INVALID',
    says: /"blk\.0\.attn_q\.weight"/,
    bend: (d) => Object.assign(tensor(d, q), { dims: [(1n << 63n) - 128n, 8n] }),
  },
  {
    name: 'an offset whose end wraps',
    code: 'ERR_MODEL_INVALID',
    says: /"blk\.0\.attn_q\.weight"/,
    bend: (d) => Object.assign(tensor(d, q), { offset: (1n << 64n) - 64n }),
  },
  {
    name: 'an architecture of another graph',
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /found "bitnet", whose graph has SiLU instead of squared ReLU/,
    bend: (d) => void d.metadata.set('general.architecture', { type: 'string', value: 'bitnet' }),
  },
  {
    name: 'another activation',
    code: 'ERR_MODEL_UNSUPPORTED',
    says: /hidden_activation": expected "relu2", found "silu"/,
    bend: (d) => void d.metadata.set('bitnet-b1.58.hidden_activation', { type: 'string', value: 'silu' }),
  },
  {
    name: 'no heads',
    code: 'ERR_MODEL_INVALID',
    says: /attention\.head_count": expected 1 to 32767, found 0/,
    bend: (d) => {
      number(d, 'attention.head_count', 0);
    },
  },
  {
    name: 'groups that are not whole',
    code: 'ERR_MODEL_INVALID',
    says: /head_count_kv": expected a divisor of the 2 heads, found 3/,
    bend: (d) => {
      number(d, 'attention.head_count_kv', 3);
    },
  },
  {
    name: 'a model of 2^32 layers and rows',
    code: 'ERR_MODEL_INVALID',
    says: /block_count": expected 1 to 1024, found 4294967295/,
    bend: (d) => {
      number(d, 'block_count', 2 ** 32 - 1);
    },
  },
  {
    name: 'a context that no memory holds',
    code: 'ERR_MODEL_INVALID',
    says: /context_length": expected 1 to 1048576, found 4294967295/,
    bend: (d) => {
      number(d, 'context_length', 2 ** 32 - 1);
    },
  },
  {
    name: 'an epsilon of nothing',
    code: 'ERR_MODEL_INVALID',
    says: /layer_norm_rms_epsilon": expected a finite number above 0, found 0/,
    bend: (d) => {
      float(d, 'attention.layer_norm_rms_epsilon', 0);
    },
  },
  {
    name: 'a rotation without a base',
    code: 'ERR_MODEL_INVALID',
    says: /rope\.freq_base": expected a finite number above 0, found -1/,
    bend: (d) => {
      float(d, 'rope.freq_base', -1);
    },
  },
];

for (const { name, code, says, bend } of bends)
  test(`${name} is refused by name`, async () => {
    const draft = tinyBitnet();
    bend(draft);
    const error = await open(encode(draft));
    assert.is(error?.code, code, error?.message);
    assert.match(error?.message ?? '', says);
    assert.ok(error?.message.startsWith(`${path}: `));
  });

test('every cut of the file is refused', async () => {
  const whole = encode(tinyBitnet({ layers: 1 }));
  for (let size = 0; size < whole.length; size += 1 + Math.floor(whole.length / 97)) {
    const error = await open(whole.subarray(0, size));
    assert.is(error?.code, 'ERR_MODEL_INVALID', `${size} bytes: ${error?.message ?? 'loaded'}`);
  }
});

for (const memory of ['normal', 'low'] as const)
  test(`${memory} memory: an embedding row that is not finite ends the request that meets it`, async () => {
    const draft = tinyBitnet({ output: true });
    tensor(draft, 'token_embd.weight').data.writeUInt16LE(0x7e00, 2 * (128 * 9 + 5));
    writeFileSync(path, encode(draft));
    await withModel(path, { memory }, async (model) => {
      const [bad, good] = [model.openSession(), model.openSession()];
      const hidden = async (session: NativeSession, ...ids: number[]) => {
        const options = { logits: 'none', trace: { blockOut: false, finalNorm: true } } as const;
        return (await session.forward(Int32Array.from(ids), options)).trace?.finalNorm;
      };
      const expected = await hidden(good, 1, 2, 3);
      const error = await failure(hidden(bad, 1, 9, 3));
      assert.is(error.code, 'ERR_MODEL_INVALID');
      assert.match(error.message, /token_embd\.weight: expected finite values, found another in row 9/);
      bad.reset();
      assert.equal(await hidden(bad, 1, 2, 3), expected);
    });
  });

test('an output row that is not finite ends the request, too', async () => {
  const draft = tinyBitnet({ output: true });
  tensor(draft, 'output.weight').data.writeUInt16LE(0x7c00, 2 * (128 * 9 + 5));
  writeFileSync(path, encode(draft));
  await withModel(path, {}, async (model) => {
    const error = await failure(model.openSession().step(Int32Array.of(1), greedy));
    assert.is(error.code, 'ERR_MODEL_INVALID', error.message);
  });
});

async function logitsOf(file: string, ids: Int32Array): Promise<Float32Array> {
  return withModel(file, {}, async (model) => {
    const { logits } = await model.openSession().forward(ids, { logits: 'all' });
    return logits ?? new Float32Array();
  });
}

const worst = (found: Float32Array, expected: ArrayLike<number>): number =>
  found.reduce((most, x, i) => Math.max(most, Math.abs(x - (expected[i] ?? NaN))), 0);

test('weights in the 64/16 layout load and give what a reader of 128/32 sees: nothing in the file tells', async () => {
  const tensors = await readTensors(join(layout, 'expected.safetensors'));
  const values = (name: string) => tensors.get(name)?.values ?? new Float32Array();
  const ids = Int32Array.from(values('input_ids'));
  const asRead = await logitsOf(join(layout, 'layout_64_16.gguf'), ids);
  assert.ok(worst(asRead, values('logits_as_read.layout_64_16.gguf')) <= 1e-4);
  assert.ok(worst(asRead, values('logits_true')) > 1);
  assert.ok(worst(await logitsOf(join(layout, 'ok_control.gguf'), ids), values('logits_true')) <= 1e-4);
});

interface BadFile {
  expect: string;
}

/** A word of the message for each file that is refused, and its code. */
const words: Record<string, [ErrorCode, RegExp]> = {
  'code3_first_block.gguf': ['ERR_MODEL_TENSOR', /attn_q\.weight": .*found 3 in byte 5/],
  'rho_nan.gguf': ['ERR_MODEL_TENSOR', /attn_q\.weight": .*scale above 0, found -?nan/],
  'rho_zero.gguf': ['ERR_MODEL_TENSOR', /attn_q\.weight": .*scale above 0, found 0/],
  'size_without_trailer.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight" and .* overlap/],
  'truncated_half_data.gguf': ['ERR_MODEL_INVALID', /attn_v\.weight": expected 4128 bytes at offset/],
  'truncated_in_tensor_infos.gguf': ['ERR_MODEL_INVALID', /tensor 9: .*end of the file/],
  'empty.gguf': ['ERR_MODEL_INVALID', /header of 24 bytes/],
  'missing_attn_sub_norm.gguf': ['ERR_MODEL_TENSOR', /blk\.0\.attn_sub_norm\.weight.*no such tensor/],
  'missing_output_norm.gguf': ['ERR_MODEL_TENSOR', /output_norm\.weight.*no such tensor/],
  'arch_bitnet-qwen.gguf': ['ERR_MODEL_UNSUPPORTED', /"bitnet-qwen", whose graph/],
  'arch_bitnet_silu.gguf': ['ERR_MODEL_UNSUPPORTED', /"bitnet", whose graph has SiLU/],
  'ffn_dim_192.gguf': ['ERR_MODEL_INVALID', /ffn_down\.weight/],
  'overlapping_offsets.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight" and .* overlap/],
  'offset_unaligned.gguf': ['ERR_MODEL_INVALID', /ffn_down\.weight.*offset/],
  'offset_u64_wrap.gguf': ['ERR_MODEL_INVALID', /ffn_down\.weight/],
  'huge_tensor_count.gguf': ['ERR_MODEL_INVALID', /tensors/],
  'huge_string_length.gguf': ['ERR_MODEL_INVALID', /general\.name/],
  'huge_n_dims.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight/],
  'huge_dims_wrap.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight/],
  'dims_wrong_rows.gguf': [
    'ERR_MODEL_TENSOR',
    /attn_k\.weight": expected shape \[128, 128\], found \[64, 128\]/,
  ],
  'type_38.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight.*38/],
  'type_2.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight" and .* overlap/],
  'token_embd_q6k.gguf': ['ERR_MODEL_INVALID', /token_embd\.weight": .*blocks of Q6_K/],
  'norm_wrong_length.gguf': ['ERR_MODEL_TENSOR', /ffn_sub_norm\.weight.*64/],
  'norm_nan.gguf': ['ERR_MODEL_TENSOR', /attn_norm\.weight": expected finite values, found -?nan at 2/],
  'duplicate_tensor.gguf': ['ERR_MODEL_INVALID', /attn_q\.weight/],
  'version_4.gguf': ['ERR_MODEL_INVALID', /expected GGUF version 3, found 4/],
  'big_endian_version.gguf': ['ERR_MODEL_INVALID', /expected GGUF version 3, found 50331648/],
  'block_count_2_only_1_present.gguf': ['ERR_MODEL_TENSOR', /blk\.1\..*no such tensor/],
  'head_count_0.gguf': ['ERR_MODEL_INVALID', /attention\.head_count": expected 1/],
  'eps_missing.gguf': ['ERR_MODEL_INVALID', /layer_norm_rms_epsilon/],
  'rope_base_zero.gguf': ['ERR_MODEL_INVALID', /rope\.freq_base": .*found 0/],
  'vocab_mismatch.gguf': ['ERR_MODEL_INVALID', /tokens": expected the vocabulary's 300/],
  'alignment_0.gguf': ['ERR_MODEL_INVALID', /alignment/],
  'kv_wrong_type.gguf': ['ERR_MODEL_INVALID', /block_count/],
  'extra_bias_tensor.gguf': ['ERR_MODEL_TENSOR', /attn_q\.bias/],
  'rope_freqs_present.gguf': ['ERR_MODEL_TENSOR', /rope_freqs\.weight/],
};

test.needs(
  existsSync(shared) ? undefined : 'no shared/golden-bitnet beside the checkout',
  'every broken file of the larger set is refused by name, the others load',
  async () => {
    const { files } = JSON.parse(readFileSync(join(shared, 'badfiles.json'), 'utf8')) as {
      files: Record<string, BadFile>;
    };
    assert.ok(Object.keys(files).length >= 40);
    for (const [name, { expect }] of Object.entries(files)) {
      const error = await refusal(join(shared, name));
      if (expect === 'accept' || expect === 'undetectable') {
        assert.is(error?.message, undefined, name);
        continue;
      }
      const [code, says] = words[name] ?? [];
      assert.ok(says !== undefined, `${name}: a file that this test does not know`);
      assert.is(error?.code, code, `${name}: ${error?.message ?? 'loaded'}`);
      assert.match(error?.message ?? '', says, name);
    }
  },
);

test.run();
