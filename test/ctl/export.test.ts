import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { synthCheckpoint } from '../../client/ctl/synth/checkpoint.js';
import { assert, suite } from '../tools/suite.js';
import { goldenCase, scratch } from './helpers/models.js';
import { failure, json, output, program } from './helpers/spikectl.js';

const test = suite('spikectl export and synth');
const checkpoint = join(goldenCase('e_base194m'), 'model.pt');

test('export writes the file, without a bar in a pipe, and says what it wrote', async () => {
  const model = scratch('e.gguf');
  const found = await json(['export', checkpoint, '-o', model, '--weights', 'int8', '--name', 'small']);
  assert.equal([found['file'], found['form']], [model, '194m']);
  assert.is(found['size_bytes'], readFileSync(model).length);
  const inspected = await json(['inspect', model, '--verify']);
  assert.is(inspected['data_sha256'], found['data_sha256']);
  assert.is((inspected['metadata'] as Record<string, unknown>)['general.name'], 'small');
});

test('a checkpoint that is none, a missing one and a missing tokenizer are refused, and nothing is written', async () => {
  const folder = scratch('refused');
  mkdirSync(folder);
  const out = ['-o', join(folder, 'm.gguf'), '--weights', 'f32'];
  await failure(
    ['export', join(goldenCase('e_base194m'), 'index.json'), ...out],
    1,
    'ERR_CHECKPOINT_INVALID',
  );
  await failure(['export', scratch('absent.pt'), ...out], 1, 'ERR_FILE_NOT_FOUND');
  await failure(
    ['export', checkpoint, ...out, '--tokenizer', scratch('absent.model')],
    1,
    'ERR_FILE_NOT_FOUND',
  );
  await failure(
    ['export', checkpoint, '-o', join(folder, 'no', 'm.gguf'), '--weights', 'f32'],
    1,
    'ERR_FILE_NOT_FOUND',
  );
  assert.equal(readdirSync(folder), []);
});

test('export takes a model file, in any storage, and inspect shows it', async () => {
  const [int8, int4mix, row] = ['from.gguf', 'int4mix.gguf', 'row.gguf'].map(scratch) as [
    string,
    string,
    string,
  ];
  await json(['export', checkpoint, '-o', int8, '--weights', 'int8', '--name', 'small']);
  await json(['export', int8, '-o', int4mix, '--weights', 'int4mix']);
  const { metadata, tensors } = (await json(['inspect', int4mix, '--verify'])) as {
    metadata: Record<string, unknown>;
    tensors: { name: string; layout: string; shape: number[]; scale_shape: number[] | null }[];
  };
  assert.is(metadata['general.name'], 'small');
  assert.is(metadata['symboliclight.weights'], 'int4mix');
  const up = tensors.find(({ name }) => name === 'blocks.0.ffn.up.weight');
  const [rows = 0, cols = 0] = up?.shape ?? [];
  assert.equal([up?.layout, up?.scale_shape], ['panel_4x32_i4', [rows, Math.ceil(cols / 32)]]);
  assert.match(await output(['inspect', int4mix]), /panel_4x32_i4/);
  await json(['export', int8, '-o', row, '--weights', 'f32', '--layout', 'row']);
  assert.match(await output(['inspect', row]), /symboliclight\.layout_plan +row/);
  for (const model of [int4mix, row]) await output(['logits', model, '--ids', '1,2,3', '--sha256']);
  const out = ['-o', scratch('none.gguf'), '--weights'];
  await failure(['export', int8, ...out, 'int8', '--layout', 'row'], 1, 'ERR_INVALID_ARGUMENT');
  await failure(['check', int4mix, '--golden', goldenCase('e_base194m')], 1, 'ERR_INVALID_ARGUMENT');
});

test('synth writes every storage', async () => {
  for (const [i, args] of [
    ['--weights', 'int4mix'],
    ['--weights', 'f32', '--layout', 'row'],
    ['--weights', 'f32', '--layout', 'column'],
  ].entries())
    await json(['synth', '--config', 'tiny', '-o', scratch(`storage-${i}.gguf`), ...args]);
});

test('Ctrl-C leaves nothing behind: exit status 130', async () => {
  const folder = scratch('interrupted');
  mkdirSync(folder);
  const args = [program, 'synth', '--config', '194m', '-o', join(folder, 'm.gguf')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  while (readdirSync(folder).length === 0 && child.exitCode === null) await sleep(5);
  child.kill('SIGINT');
  const [code] = (await once(child, 'close')) as [number | null];
  assert.is(code, 130, stderr);
  assert.match(stderr, /^spikectl: ERR_CANCELLED: .*\n$/);
  assert.equal(readdirSync(folder), []);
});

test('synth: the same seed gives the same file, another seed another, and neurons fire', async () => {
  const make = (name: string, ...args: string[]) =>
    json(['synth', '--config', 'tiny', '-o', scratch(name), ...args]);
  const [one, same, other] = [
    await make('one.gguf', '--seed', '5'),
    await make('same.gguf', '--seed', '5'),
    await make('other.gguf', '--seed', '6', '--weights', 'f32'),
  ];
  assert.is(one['data_sha256'], same['data_sha256']);
  assert.is.not(one['data_sha256'], other['data_sha256']);
});

test('synth: rows do not depend on the blocks they are read in', async () => {
  const tensor = synthCheckpoint('tiny', 9n).tensors.get('blocks.1.ffn.up.weight');
  if (tensor === undefined) throw new Error('no such tensor');
  const whole = await tensor.readRows(0, 410);
  const part = await tensor.readRows(100, 103);
  assert.equal(part, whole.subarray(100 * 132, 103 * 132));
  const mean = whole.reduce((sum, x) => sum + x, 0) / whole.length;
  const deviation = Math.sqrt(whole.reduce((sum, x) => sum + x * x, 0) / whole.length);
  assert.ok(Math.abs(mean) < 0.02 * deviation);
  assert.ok(Math.abs(deviation * Math.sqrt(132) - 0.746) < 0.01, String(deviation));
});

test('synth reports the activity it measured', async () => {
  const { stderr } = await import('./helpers/spikectl.js').then(({ spikectl }) =>
    spikectl(['synth', '--config', 'tiny', '-o', scratch('measured.gguf')]),
  );
  const shares = [...stderr.matchAll(/([\d.]+) %/g)].map(([, share]) => Number(share));
  assert.is(shares.length, 5, stderr);
  for (const share of shares) assert.ok(share >= 5 && share <= 15, stderr);
  assert.match(await output(['inspect', scratch('measured.gguf')]), /synth-tiny-int8-1/);
});

test.run();
