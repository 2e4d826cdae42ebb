import { assert, suite } from '../tools/suite.js';
import { SpikedError } from '../../client/protocol/errors.js';
import { Random } from './helpers/random.js';
import { readEverything } from './helpers/reads.js';
import { f32Bytes, pickleOf, scratchFolder, torchBytes, type TorchFileSpec } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('mutated checkpoints');
test.after(() => folder.remove());

const rounds = process.env['SPIKED_TEST_LONG'] === '1' ? 15_000 : 400;
const seed = 20_260;

type Read = (path: string) => Promise<void>;

/** What a mutation led to that is neither success nor a SpikedError; undefined when all is well. */
async function escape(read: Read, bytes: Buffer): Promise<string | undefined> {
  try {
    await read(folder.write('mutant', bytes));
  } catch (error) {
    if (!(error instanceof SpikedError)) return String((error as Error).stack);
  }
  return undefined;
}

/** Runs `count` mutants and returns the first escape with what repeats it. */
async function hunt(
  read: Read,
  mutant: (random: Random) => Buffer,
  count: number,
): Promise<string | undefined> {
  const random = new Random(seed);
  for (let round = 0; round < count; round++) {
    const bytes = mutant(random);
    const found = await escape(read, bytes);
    if (found !== undefined) return `seed ${seed} round ${round}: ${found}`;
  }
  return undefined;
}

const spec: TorchFileSpec = {
  config: { vocab_size: 4, leak: 0.95, name: 'x' },
  tensors: [
    ['w', { dtype: 'f32', key: '0', elements: 8, shape: [2, 4] }],
    ['t', { dtype: 'f32', key: '0', elements: 8, shape: [4, 2], strides: [1, 4] }],
    ['b', { dtype: 'bf16', key: '1', elements: 4, shape: [4] }],
    ['s', { dtype: 'f32', key: '2', elements: 1, shape: [] }],
  ],
  storages: [
    ['0', [f32Bytes([1, 2, 3, 4, 5, 6, 7, 8])]],
    ['1', [Buffer.alloc(8, 0x3f)]],
    ['2', [f32Bytes([9])]],
  ],
};

const interesting = [0, 1, 0x28, 0x2e, 0x52, 0x63, 0x71, 0x72, 0x7f, 0x80, 0x81, 0xfe, 0xff];

function mutate(source: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(source);
  for (let i = random.below(4); i >= 0; i--) {
    const at = random.below(bytes.length);
    switch (random.below(6)) {
      case 0:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
        break;
      case 1:
        bytes[at] = random.pick(interesting);
        break;
      case 2:
        bytes.fill(random.pick([0, 0xff]), at, Math.min(bytes.length, at + random.pick([1, 2, 4, 8])));
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.below(16))]);
        break;
      case 4:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          Buffer.from([random.pick(interesting)]),
          bytes.subarray(at),
        ]);
        break;
      default: {
        const from = random.below(bytes.length);
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          bytes.subarray(from, from + random.below(64)),
          bytes.subarray(at),
        ]);
      }
    }
    if (bytes.length === 0) return Buffer.from([0]);
  }
  return bytes;
}

const stored = torchBytes(spec);
const deflated = torchBytes({ ...spec, options: { deflate: true } });
const pickle = pickleOf(spec);
const safetensors = (() => {
  const header = Buffer.from(
    '{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]}}',
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(20, 1)]);
})();
folder.write('config.json', '{}');

const targets: [name: string, mutant: (random: Random) => Buffer][] = [
  ['an archive', (random) => mutate(random.pick([stored, deflated]), random)],
  // The archive is whole and its checksums right, so that every mutation reaches the unpickler.
  ['the pickle in an archive', (random) => torchBytes({ ...spec, pickle: mutate(pickle, random) })],
  ['a safetensors file', (random) => mutate(safetensors, random)],
];

for (const [name, mutant] of targets)
  test(`${rounds} mutants of ${name} end in success or a SpikedError`, async () => {
    assert.is(await hunt(readEverything, mutant, rounds), undefined);
  });

test('the hunt finds a planted TypeError', async () => {
  const faulty: Read = async (path) => {
    await readEverything(path).catch((error: unknown) => {
      if (error instanceof SpikedError && error.message.includes('CRC-32'))
        (undefined as unknown as { message(): void }).message();
      throw error;
    });
  };
  assert.match((await hunt(faulty, (random) => mutate(stored, random), rounds)) ?? '', /TypeError/);
});

test('mutants are refused for many reasons, not all at the door', async () => {
  const random = new Random(seed);
  const reasons = new Set<string>();
  for (let round = 0; round < 400; round++) {
    const bytes = torchBytes({ ...spec, pickle: mutate(pickle, random) });
    await readEverything(folder.write('mutant', bytes)).catch((error: unknown) =>
      reasons.add(
        (error as SpikedError).message.replace(/^.*?: (?=expected|found)/, '').replace(/[\d"].*/, ''),
      ),
    );
  }
  assert.ok(reasons.size >= 12, [...reasons].join('\n'));
});

test.run();
