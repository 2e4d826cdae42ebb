import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, root, run, suite } from '../tools/suite.js';
import { scratch, synthModel } from './helpers/models.js';
import { json, output, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl bench and the demo');

test('bench decode: the share is made of the other figures', async () => {
  const model = await synthModel('bench');
  const found = await json(['bench', 'decode', model, '--tokens', '8', '--rounds', '3', '--threads', '1']);
  const figure = (key: string) => Number(found[key]);
  assert.ok(figure('tokens_per_s') >= figure('tokens_per_s_min'));
  assert.ok(figure('tokens_per_s') <= figure('tokens_per_s_max'));
  assert.ok(figure('read_bandwidth_gb_s') > 0.1);
  const share = (figure('tokens_per_s') * figure('bytes_per_token')) / (figure('read_bandwidth_gb_s') * 1e9);
  assert.ok(Math.abs(figure('share') / share - 1) < 1e-9);
  // All dense weights of the tiny shape are read for every token, at most all weights.
  assert.ok(
    figure('bytes_per_token') > 600_000 && figure('bytes_per_token') < 2_000_000,
    String(found['bytes_per_token']),
  );
  assert.equal([found['threads'], found['weights'], found['rounds'], found['tokens']], [1, 'int8', 3, 8]);
  for (const key of ['isa', 'model', 'data_sha256', 'version', 'commit', 'compiler', 'cpu', 'load_ms'])
    assert.ok(found[key] !== undefined, key);
  assert.match(
    await output(['bench', 'decode', model, '--tokens', '4', '--rounds', '1']),
    /% of the bandwidth/,
  );
});

test('bench head: certified differs nowhere; hidden states of a file; a scan is unverified', async () => {
  const args = ['bench', 'head', '--states', '64', '--threads', '1'];
  const found = await json([...args, '--mode', 'certified']);
  assert.equal([found['steps'], found['differences'], found['weights']], [64, 0, 'int8']);
  assert.is(Number(found['proved']) + Number(found['fell_back']), 64);
  assert.ok(Number(found['bytes_share']) > 0.5 && Number(found['bytes_share']) < 2);
  assert.match(await output([...args, '--mode', 'scan']), /near ties, masked/);
  const states = Float32Array.from({ length: 5 * 192 }, (_, i) => Math.sin(i * i));
  const file = scratch('hidden.safetensors');
  const header = JSON.stringify({
    h: { dtype: 'F32', shape: [5, 192], data_offsets: [0, states.byteLength] },
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(file, Buffer.concat([length, Buffer.from(header), Buffer.from(states.buffer)]));
  const given = await json([
    'bench',
    'head',
    '--hidden',
    file,
    '--mode',
    'gate',
    '--k',
    '2048',
    '--threshold',
    '100',
  ]);
  assert.equal([given['steps'], given['differences']], [5, 0]);
  const other = await synthModel('other-width');
  const refused = await spikectl(['bench', 'head', other, '--hidden', file]);
  assert.is(refused.code, 1);
  assert.match(
    refused.stderr,
    /ERR_CHECKPOINT_TENSOR: .*expected one f32 tensor of shape \[n, \d+\], found h \[5, 192\]/,
  );
});

test('the demo streams the bundled model, reports and stops its daemon', async () => {
  const demo = join(root, 'dist/client/ctl/demo.js');
  const { code, stdout, stderr } = await run(process.execPath, [demo], { timeoutMs: 120_000 });
  assert.is(code, 0, stderr);
  assert.match(stdout, /speed +[\d.]+ tokens\/s/);
  assert.match(stdout, /peak memory +[\d.]+ MiB/);
  assert.match(stdout, /The daemon has stopped\.\n$/);
  const missing = await run(process.execPath, [demo, '/nonexistent.gguf']);
  assert.is(missing.code, 1);
  assert.match(missing.stderr, /^spikectl: ERR_FILE_NOT_FOUND: .*\n$/);
});

test.run();
