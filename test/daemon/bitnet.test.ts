/** BitNet models in the daemon: what their settings do, what is said of them, and that bad ones harm nobody. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, SpikedError } from '../../client/index.js';
import { describeModel } from '../../native/host/index.js';
import { assert, sharedDir, suite, tempDir } from '../tools/suite.js';
import { encode } from '../tensor/gguf-draft.js';
import { tinyBitnet } from '../tensor/tiny-bitnet.js';
import { DaemonProcess } from './helpers/process.js';
import { refused } from './helpers/refused.js';

const test = suite('BitNet in the daemon');
const folder = tempDir();
const bad = join(sharedDir() ?? 'shared', 'golden-bitnet/badfiles');
const context = 64;
const request = { tokens: [1, 2, 3], max_tokens: 20, temperature: 0, ignore_eos: true };
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  writeFileSync(join(folder, 'good.gguf'), encode(tinyBitnet({ seed: 3 })));
  const draft = tinyBitnet({ seed: 3, output: true });
  const table = draft.tensors.find(({ name }) => name === 'token_embd.weight');
  table?.data.writeUInt16LE(0x7e00, 2 * (128 * 9 + 5));
  writeFileSync(join(folder, 'hole.gguf'), encode(draft));
  daemon = await DaemonProcess.start([
    '--model', join(folder, 'good.gguf'), '--model', folder, '--model', existsSync(bad) ? bad : folder,
    '--context', String(context), '--kv', 'f16', '--contract', 'hyphae', '--head-bits', '4',
  ]); // prettier-ignore
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

test('the settings are told, and size what a session may reach', async () => {
  const { kv, memory, contract, head_bits } = await client.serverInfo();
  assert.equal(
    { kv, memory, contract, head_bits },
    { kv: 'f16', memory: 'normal', contract: 'hyphae', head_bits: 4 },
  );
  const { info } = await client.loadModel('good');
  assert.equal(
    [info.architecture, info.form, info.weights, info.context_limit, info.max_context, info.n_kv_heads],
    ['bitnet-b1.58', '', 'i2_s', context, context, 1],
  );
  assert.is(
    (await refused(client.generate({ tokens: Array<number>(context + 1).fill(1) }).result)).code,
    'ERR_CONTEXT_FULL',
  );
  const whole = await client.generate({ ...request, max_tokens: 1000 }).result;
  assert.is(whole.stop_reason, 'length');
  assert.is(whole.prompt_tokens + whole.generated_tokens, context);
});

test('no published file: one warning in the log, and one in what is said of the model', async () => {
  const { info } = await client.loadModel('good');
  assert.equal(info.warnings, ['layout unverified']);
  const listed = (await client.listModels()).find(({ name }) => name === 'good');
  assert.equal(listed?.info?.warnings, ['layout unverified']);
  const lines = daemon.stderr.split('\n').filter((line) => line.includes('layout unverified'));
  assert.is(lines.filter((line) => line.includes('good.gguf')).length, 1, daemon.stderr);
});

test('numbers that a ternary model has none of are zeros, not NaN', async () => {
  const { activity } = await client.generate(request).result;
  assert.equal(activity, { mixer: 0, ffn: 0 });
});

test('a row that is not finite ends its request, and no other', async () => {
  await client.loadModel('hole');
  const expected = (await client.generate(request).result).tokens;
  const [error, other] = await Promise.all([
    refused(client.generate({ ...request, model: 'hole', tokens: [1, 9, 3] }).result),
    client.generate(request).result,
  ]);
  assert.is(error.code, 'ERR_MODEL_INVALID');
  assert.match(error.message, /row 9/);
  assert.equal(other.tokens, expected);
  assert.is((await client.generate({ ...request, model: 'hole' }).result).tokens.length > 0, true);
});

for (const left of ['nothing', 'half', 'all but a byte'] as const)
  test(`a file cut to ${left} ends the requests on it`, async () => {
    const cut = join(folder, 'cut.gguf');
    copyFileSync(join(folder, 'good.gguf'), cut);
    await client.loadModel('cut');
    const expected = (await client.generate(request).result).tokens;
    const size = statSync(cut).size;
    truncateSync(cut, left === 'nothing' ? 0 : left === 'half' ? Math.floor(size / 2) : size - 1);
    const [error, other] = await Promise.all([
      refused(client.generate({ ...request, model: 'cut' }).result),
      client.generate(request).result,
    ]);
    assert.is(error.code, 'ERR_MODEL_FILE_CHANGED', error.message);
    assert.equal(other.tokens, expected);
    await client.unloadModel('cut');
  });

test.needs(
  existsSync(bad) ? undefined : 'no shared/golden-bitnet beside the checkout',
  'the daemon lives on after every broken file',
  async () => {
    const expected = (await client.generate(request).result).tokens;
    const names = readdirSync(bad).filter((name) => name.endsWith('.gguf'));
    assert.ok(names.length >= 40);
    let n = 0;
    for (const name of names) {
      const path = join(bad, name);
      const loaded = await client.loadModel(path).then(
        ({ name: model }) => model,
        (error: unknown) => error as SpikedError,
      );
      if (typeof loaded === 'string') await client.unloadModel(loaded);
      else {
        n++;
        assert.match(loaded.code, /^ERR_(MODEL|TOKENIZER)_/, `${name}: ${loaded.message}`);
      }
      assert.equal(
        (await client.generate({ ...request, max_tokens: 2 }).result).tokens,
        expected.slice(0, 2),
        name,
      );
    }
    assert.ok(n >= 35, `${n} refused`);
  },
);

test('low memory: F16 tables are not counted, and what is loaded beside them is', async () => {
  const model = join(folder, 'good.gguf');
  const answers = new Set<string>();
  const held = async (...more: string[]): Promise<{ mapped: number; copied: number }> => {
    const own = await DaemonProcess.start(['--model', model, ...more]);
    const other = await own.client();
    const { weights_bytes: mapped, copied_bytes: copied } = await other.serverMemory();
    assert.is((await other.serverInfo()).memory, more[1] ?? 'normal');
    answers.add(String((await other.generate(request).result).tokens));
    await other.close();
    assert.is((await own.stop()).code, 0, own.stderr);
    return { mapped, copied };
  };
  const [normal, low, pages] = await Promise.all([
    held(),
    held('--memory', 'low', '--prefault'),
    held('--memory', 'low', '--huge-pages'),
  ]);
  assert.is(answers.size, 1);
  const size = statSync(model).size;
  assert.equal(normal, { mapped: size, copied: 0 });
  assert.equal(low, { mapped: pages.copied, copied: 0 });
  assert.is(pages.mapped, 0);
  // The table and the header, but for pages that they share with other tensors.
  const page = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));
  const saved = size - low.mapped;
  const most = 2 * 101 * 128 + (await describeModel(model)).dataOffsetBytes;
  assert.ok(saved <= most && saved > most - 4 * page, `${saved} of ${most} bytes`);
});

test('settings that models are not for are refused by name', async () => {
  const model = join(folder, 'good.gguf');
  const long = DaemonProcess.spawn(['--model', model, '--context', '129']);
  assert.is((await long.ended).code === 0, false);
  assert.match(long.stderr, /context: expected at most the 128 positions/);
  const word = DaemonProcess.spawn(['--model', model, '--kv', 'f8']);
  assert.is((await word.ended).code === 0, false);
  assert.match(word.stderr, /--kv.*f32, f16/);
});

test.run();
