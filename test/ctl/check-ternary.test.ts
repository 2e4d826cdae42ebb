import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/index.js';
import { assert, root, sharedDir, suite } from '../tools/suite.js';
import { scratch } from './helpers/models.js';
import { failure, json, output, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl check, ternary models');

const own = join(root, 'test/golden/bitnet');
const shared = sharedDir();
const all = shared === undefined ? undefined : join(shared, 'golden-bitnet');

interface Sequence {
  tag: string;
  kv: string;
  contract: string;
  robust_positions: number;
  passed: boolean;
  comparisons: { name: string; held: number; error: number; passed: boolean }[];
  splits_different: string[];
}

const casesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter(
      (name) => existsSync(join(folder, name, 'model.gguf')) && existsSync(join(folder, name, 'index.json')),
    )
    .filter((name) =>
      readFileSync(join(folder, name, 'index.json'), 'utf8').includes('robust_leading_positions'),
    )
    .map((name) => join(folder, name));

async function check(folder: string, ...more: string[]): Promise<Sequence[]> {
  const found = await json(['check', join(folder, 'model.gguf'), '--golden', folder, ...more]);
  assert.is(found['passed'], true);
  return found['sequences'] as Sequence[];
}

function everyHeld(sequences: readonly Sequence[]): void {
  for (const { tag, robust_positions: robust, comparisons, splits_different: splits } of sequences) {
    assert.equal(splits, [], tag);
    // A sequence may be robust nowhere; what it is robust in must have been looked at.
    const held = comparisons.find(({ name }) => name === 'full_logits')?.held ?? 0;
    assert.is(held > 0, robust > 0, tag);
  }
}

test('a case of F32 and F16 keys: codes, ids and logits are the reference’s', async () => {
  const sequences = await check(join(own, 'a_base'));
  everyHeld(sequences);
  assert.equal(
    sequences.map(({ tag, kv }) => [tag, kv]),
    [
      ['n1', 'f32'],
      ['n8', 'f32'],
      ['kv16.n8', 'f16'],
    ],
  );
  const names = sequences.find(({ tag }) => tag === 'n8')?.comparisons.map(({ name }) => name);
  for (const name of [
    'q_attn_in',
    'q_attn_out_in',
    'q_ffn_in',
    'q_ffn_down_in',
    'absmax',
    'block_out',
    'final_norm',
  ])
    assert.ok(names?.includes(name), name);
});

test('the form with an output table of its own', async () => {
  everyHeld(await check(join(own, 'b_bitnet25_output')));
});

test('--kv and --contract choose the sequences, and people get a table', async () => {
  const folder = join(own, 'a_base');
  assert.equal(
    (await check(folder, '--kv', 'f16')).map(({ tag }) => tag),
    ['kv16.n8'],
  );
  const half = await check(folder, '--contract', 'hyphae', '--kv', 'f32');
  assert.equal(
    half.map(({ contract }) => contract),
    ['hyphae', 'hyphae'],
  );
  const text = await output(['check', join(folder, 'model.gguf'), '--golden', folder]);
  assert.match(text, /bitnet-b1\.58, i2_s weights/);
  assert.match(text, /kv16\.n8 +f16 +bitnet +8 of 28 .*pass/);
});

test('one weight another way fails, naming sequence, tensor and position', async () => {
  const folder = join(own, 'a_base');
  const bytes = readFileSync(join(folder, 'model.gguf'));
  const { tensors } = JSON.parse(await addon().describeFile(join(folder, 'model.gguf'))) as {
    tensors: { name: string; offset_bytes: number }[];
  };
  const at = tensors.find(({ name }) => name === 'blk.1.ffn_gate.weight')?.offset_bytes ?? 0;
  for (let i = 0; i < 64; i++) bytes[at + i] = 0b01010101;
  const changed = scratch('changed.gguf');
  writeFileSync(changed, bytes);
  const { code, stdout, stderr } = await spikectl(['check', changed, '--golden', folder, '--kv', 'f32']);
  assert.is(code, 3);
  assert.match(stderr, /^spikectl: ERR_CHECK_FAILED: .*sequence n1, sequence n8\n$/);
  assert.match(
    stdout,
    /n8: q_ffn_down_in: up to \d+ a position differ in the 28 positions that should agree, from position 0/,
  );
  assert.match(stdout, /n8: full_logits: off by up to/);
});

test('a model of another case, and a case without its data, are refused', async () => {
  const model = join(own, 'b_bitnet25_output', 'model.gguf');
  assert.match(
    await failure(['check', model, '--golden', join(own, 'a_base')], 1, 'ERR_INVALID_ARGUMENT'),
    /not exported from case a_base: L: expected 3, found 2/,
  );
  const bare = scratch('bare');
  mkdirSync(bare);
  copyFileSync(join(own, 'a_base', 'index.json'), join(bare, 'index.json'));
  await failure(['check', join(own, 'a_base', 'model.gguf'), '--golden', bare], 1, 'ERR_FILE_NOT_FOUND');
});

test.needs(
  all !== undefined && existsSync(all) ? undefined : 'no shared/golden-bitnet beside the checkout',
  'every case of the larger set, the rule without a floor among them',
  async () => {
    const tags: string[] = [];
    for (const folder of casesIn(all ?? '')) {
      const sequences = await check(folder);
      everyHeld(sequences);
      tags.push(...sequences.map(({ tag, contract }) => `${tag} ${contract}`));
    }
    assert.ok(tags.includes('n1tiny (no floor) hyphae'));
    assert.ok(tags.length > 20);
  },
);

test.run();
