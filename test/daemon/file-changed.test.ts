/** Model files that are cut while the daemon serves them. */
import { copyFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../../client/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { refused } from './helpers/refused.js';

const test = suite('file changed');
const folder = tempDir();
const cut = join(folder, 'cut.gguf');
const kept = join(folder, 'kept.gguf');
const request = { tokens: [1, 2, 3], max_tokens: 300, temperature: 0 };
let source = '';
let daemon: DaemonProcess;
let client: Client;
let expected: number[];

test.before(async () => {
  source = await goldenModel(smallCase);
  copyFileSync(source, cut);
  copyFileSync(source, kept);
  daemon = await DaemonProcess.start(['--model', kept, '--model', folder, '--context', '100000']);
  client = await daemon.client();
  expected = (await client.generate(request).result).tokens;
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});
test.beforeEach(async () => {
  copyFileSync(source, cut);
  await client.loadModel('cut');
});
test.afterEach(async () => {
  await client.unloadModel('cut');
});

async function endsAsChanged(call: Promise<unknown>): Promise<void> {
  const { code, message } = await refused(call);
  assert.is(code, 'ERR_MODEL_FILE_CHANGED', message);
  assert.match(message, /cut\.gguf: expected the file as it was loaded/);
}

for (const left of ['nothing', 'half', 'all but a byte'] as const)
  test(`cut between requests to ${left}: requests on it end, those on others do not`, async () => {
    const size = statSync(cut).size;
    assert.equal((await client.generate({ ...request, model: 'cut' }).result).tokens, expected);
    truncateSync(cut, left === 'nothing' ? 0 : left === 'half' ? size / 2 : size - 1);
    await Promise.all([
      endsAsChanged(client.generate({ ...request, model: 'cut' }).result),
      endsAsChanged(client.score({ tokens: [1, 2, 3], model: 'cut' })),
      client.generate(request).result.then(({ tokens }) => assert.equal(tokens, expected)),
    ]);
    await endsAsChanged(client.generate({ ...request, model: 'cut' }).result);
  });

test('cut in mid-decode: what was told is right, then it ends; the one beside it goes on; a new load heals', async () => {
  const beside = client.generate(request);
  const generation = client.generate({ ...request, model: 'cut', max_tokens: 4000 });
  const told: number[] = [];
  await endsAsChanged(
    (async () => {
      for await (const { token } of generation) {
        if (told.push(token) === 20) truncateSync(cut, 0);
      }
      await generation.result;
    })(),
  );
  assert.ok(told.length >= 20 && told.length < 4000);
  assert.equal(told.slice(0, expected.length), expected.slice(0, told.length));
  assert.equal((await beside.result).tokens, expected);
  await client.unloadModel('cut');
  copyFileSync(source, cut);
  await client.loadModel('cut');
  assert.equal((await client.generate({ ...request, model: 'cut' }).result).tokens, expected);
});

test.run();
