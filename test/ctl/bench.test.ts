import { join } from 'node:path';
import { assert, root, run, suite } from '../tools/suite.js';
import { synthModel } from './helpers/models.js';
import { json, output } from './helpers/spikectl.js';

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
