import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bitnetConfigs } from '../../client/ctl/synth/bitnet/configs.js';
import { bitnetTensors } from '../../client/ctl/synth/bitnet/tensors.js';
import { makeVocabulary } from '../../client/ctl/synth/bitnet/vocabulary.js';
import { tensorSizeBytes } from '../../export/gguf-header.js';
import { describeModel, type TensorEntry } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { scratch } from './helpers/models.js';
import { failure, json, output } from './helpers/spikectl.js';

const test = suite('spikectl synth of ternary models');
const synth = (name: string, ...args: string[]) =>
  json(['synth', '--config', 'bitnet-tiny', '-o', scratch(name), ...args]);

test('bitnet-2b4t has the tensors, bytes and ids of the published file', () => {
  const config = bitnetConfigs['bitnet-2b4t'];
  const tensors = bitnetTensors(config, false);
  assert.is(tensors.length, 332);
  assert.is(tensors.filter(({ type }) => type === 'i2_s').length, 210);
  const bytes = (kept: readonly (typeof tensors)[number][]) =>
    kept.reduce((sum, tensor) => sum + tensorSizeBytes(tensor), 0);
  assert.is(bytes(tensors), 1_179_449_920);
  assert.is(bytes(tensors.filter(({ type }) => type === 'i2_s')), 521_017_920);
  assert.is(bitnetTensors(config, true).length, 333);
  const { tokens, merges, bosId, eosId } = makeVocabulary(config.vocabSize, config.nMerges);
  assert.equal([tokens.length, merges.length, bosId, eosId], [128256, 280147, 128000, 128001]);
  assert.equal(
    [0, 128009, 128255].map((id) => tokens[id]),
    ['!', '<|eot_id|>', '<|reserved_special_token_250|>'],
  );
});

for (const { vocabSize, nMerges } of Object.values(bitnetConfigs))
  test(`a vocabulary of ${vocabSize}: no token twice, every merge of two tokens makes one`, () => {
    const { tokens, merges } = makeVocabulary(vocabSize, nMerges);
    const known = new Set(tokens);
    assert.is(known.size, vocabSize);
    assert.is(new Set(merges).size, nMerges);
    const made = new Set<string>();
    for (const merge of merges) {
      const [left = '', right = '', ...more] = merge.split(' ');
      assert.ok(more.length === 0 && known.has(left) && known.has(right) && known.has(left + right), merge);
      made.add(left + right);
    }
    assert.is(made.size, vocabSize - 512, 'tokens that are neither bytes nor special');
  });

test('the file loads, is the same for the same seed, and for no other', async () => {
  const one = await synth('one.gguf', '--seed', '5');
  assert.is(one['size_bytes'], readFileSync(scratch('one.gguf')).length);
  assert.equal([one['architecture'], one['n_tensors']], ['bitnet-b1.58', 35]);
  await synth('same.gguf', '--seed', '5');
  assert.ok(readFileSync(scratch('one.gguf')).equals(readFileSync(scratch('same.gguf'))));
  const other = await synth('other.gguf', '--seed', '6');
  assert.is.not(other['data_sha256'], one['data_sha256']);
  const inspected = await json(['inspect', scratch('one.gguf')]);
  assert.equal([inspected['data_sha256'], inspected['alignment']], [one['data_sha256'], 32]);
  await output(['logits', scratch('one.gguf'), '--ids', '1,2,3', '--sha256']);
});

test('--output-head: the form that was published first', async () => {
  const found = await synth('head.gguf', '--output-head');
  assert.equal([found['architecture'], found['n_tensors']], ['bitnet-25', 36]);
  await output(['logits', scratch('head.gguf'), '--ids', '1,2,3', '--sha256']);
});

test('weights are a third -1, 0 and 1 each, tables normal, and logits of a size that text models have', async () => {
  const path = scratch('values.gguf');
  await synth('values.gguf');
  const bytes = readFileSync(path);
  const { tensors } = await describeModel(path);
  const named = (name: string): TensorEntry => {
    const tensor = tensors.find((entry) => entry.name === name);
    if (tensor === undefined) throw new Error(`no tensor ${name}`);
    return tensor;
  };
  const up = named('blk.1.ffn_up.weight');
  const counts = [0, 0, 0, 0];
  for (const byte of bytes.subarray(up.offsetBytes, up.offsetBytes + up.sizeBytes - 32))
    for (let bit = 0; bit < 8; bit += 2) counts[(byte >> bit) & 3] = (counts[(byte >> bit) & 3] ?? 0) + 1;
  assert.is(counts[3], 0);
  for (const count of counts.slice(0, 3))
    assert.ok(Math.abs(count / (640 * 256) - 1 / 3) < 0.02, String(counts));
  const scale = bytes.readFloatLE(up.offsetBytes + (640 * 256) / 4);
  assert.ok(Math.abs(scale - 1 / Math.sqrt((2 / 3) * 256)) < 1e-6, String(scale));
  const embedding = named('token_embd.weight');
  const values = Array.from({ length: 1280 * 256 }, (_, i) =>
    halfValue(bytes.readUInt16LE(embedding.offsetBytes + 2 * i)),
  );
  const moment = (power: number) => values.reduce((sum, x) => sum + x ** power, 0) / values.length;
  assert.ok(Math.abs(moment(1)) < 0.001, String(moment(1)));
  assert.ok(Math.abs(Math.sqrt(moment(2)) - 0.05) < 0.002, String(Math.sqrt(moment(2))));
  const logits = scratch('values.bin');
  await output(['logits', path, '--ids', '1,200,30', '-o', logits]);
  const found = readFileSync(logits);
  const all = new Float32Array(found.buffer, found.byteOffset, found.length / 4);
  const deviation = Math.sqrt(all.reduce((sum, x) => sum + x * x, 0) / all.length);
  assert.ok(deviation > 0.4 && deviation < 2, String(deviation));
});

test('options of the other kind of model are refused, and nothing is written', async () => {
  const folder = scratch('refused');
  mkdirSync(folder);
  const to = (config: string) => ['synth', '--config', config, '-o', join(folder, 'm.gguf')];
  writeFileSync(scratch('a.model'), '');
  for (const args of [
    ['--weights', 'int8'],
    ['--layout', 'row'],
    ['--tokenizer', scratch('a.model')],
  ])
    assert.match(await failure([...to('bitnet-tiny'), ...args], 2, 'ERR_USAGE'), new RegExp(args[0] ?? ''));
  assert.match(await failure([...to('tiny'), '--output-head'], 2, 'ERR_USAGE'), /--output-head/);
  assert.equal(readdirSync(folder), []);
});

/** Of a half float that is finite. */
function halfValue(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

test.run();
