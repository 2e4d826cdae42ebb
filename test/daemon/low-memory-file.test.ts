/** Files whose rows are read when they are needed (memory: low), and that change while the daemon serves them. */
import { copyFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, GenerateParams } from '../../client/index.js';
import { encode } from '../tensor/gguf-draft.js';
import { tinyBitnet } from '../tensor/tiny-bitnet.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { DaemonProcess } from './helpers/process.js';
import { refused } from './helpers/refused.js';

const folder = tempDir();
const [kept, source, other, changing] = ['kept', 'source', 'other', 'changing'].map((name) =>
  join(folder, `${name}.gguf`),
) as [string, string, string, string];
/** So long, and so slow, that a file changes in mid-decode on a machine that is busy with other things. */
const shape = { context: 4096, dim: 256, heads: 4, kvHeads: 2, layers: 4, ffn: 512 };
const heads: GenerateParams['head'][] = [{ mode: 'full' }, { mode: 'certified' }, { mode: 'topk', k: 4 }];
const request = { tokens: [1, 2, 3], max_tokens: 60, temperature: 0, ignore_eos: true };
const onChanging = { ...request, model: 'changing' };
async function endsAsChanged(call: Promise<unknown>): Promise<void> {
  const { code, message } = await refused(call);
  assert.is(code, 'ERR_MODEL_FILE_CHANGED', message);
  assert.match(message, /changing\.gguf: /);
}

const size = (): number => statSync(source).size;
const changes: [string, () => void][] = [
  ['cut to nothing', () => truncateSync(changing, 0)],
  ['cut to half', () => truncateSync(changing, Math.floor(size() / 2))],
  ['cut by a byte', () => truncateSync(changing, size() - 1)],
  ['overwritten with another model', () => copyFileSync(other, changing)],
];

for (const more of [[], ['--huge-pages']]) {
  const test = suite(['low memory, file changed', ...more].join(' '));
  let daemon: DaemonProcess;
  let client: Client;
  let expected: number[];

  test.before(async () => {
    writeFileSync(source, encode(tinyBitnet({ ...shape, seed: 3 })));
    writeFileSync(other, encode(tinyBitnet({ ...shape, seed: 4 })));
    copyFileSync(source, kept);
    daemon = await DaemonProcess.start(['--model', kept, '--model', folder, '--memory', 'low', ...more]);
    client = await daemon.client();
    expected = (await client.generate(request).result).tokens;
  });
  test.after(async () => {
    await client.close();
    assert.is((await daemon.stop()).code, 0, daemon.stderr);
  });
  test.beforeEach(async () => {
    copyFileSync(source, changing);
    await client.loadModel('changing');
  });
  test.afterEach(async () => {
    await client.unloadModel('changing');
  });

  async function keptAnswers(): Promise<void> {
    assert.equal((await client.generate(request).result).tokens, expected);
  }

  for (const [what, change] of changes)
    test(`${what} between requests: they end whatever the head, those on the other model do not`, async () => {
      for (const head of heads)
        assert.equal((await client.generate({ ...onChanging, head }).result).tokens, expected);
      change();
      await Promise.all([
        ...heads.map((head) => endsAsChanged(client.generate({ ...onChanging, head }).result)),
        endsAsChanged(client.score({ tokens: [1, 2, 3], model: 'changing' })),
        keptAnswers(),
      ]);
    });

  for (const [what, change] of changes)
    test(`${what} in mid-decode: what was told is right, then the requests end; a new load heals`, async () => {
      const beside = keptAnswers();
      await Promise.all(
        heads.map(async (head, i) => {
          const generation = client.generate({ ...onChanging, head, max_tokens: shape.context - 3 });
          const told: number[] = [];
          await endsAsChanged(
            (async () => {
              for await (const { token } of generation) if (told.push(token) === 20 && i === 0) change();
              await generation.result;
            })(),
          );
          assert.equal(told.slice(0, expected.length), expected.slice(0, told.length));
        }),
      );
      await beside;
      await client.unloadModel('changing');
      copyFileSync(source, changing);
      await client.loadModel('changing');
      assert.equal((await client.generate(onChanging).result).tokens, expected);
    });

  test('cut before a head has made its table: the request ends, and a new load makes it', async () => {
    truncateSync(changing, Math.floor(size() / 2));
    await endsAsChanged(client.generate({ ...onChanging, head: { mode: 'topk' } }).result);
    await keptAnswers();
    await client.unloadModel('changing');
    copyFileSync(source, changing);
    await client.loadModel('changing');
    assert.equal((await client.generate({ ...onChanging, head: { mode: 'topk' } }).result).tokens, expected);
  });

  test('replaced by another file: the one that was loaded goes on, until it is loaded again', async () => {
    copyFileSync(other, `${changing}.new`);
    renameSync(`${changing}.new`, changing);
    for (const head of heads)
      assert.equal((await client.generate({ ...onChanging, head }).result).tokens, expected);
    await client.unloadModel('changing');
    await client.loadModel('changing');
    assert.is.not(String((await client.generate(onChanging).result).tokens), String(expected));
  });

  test.run();
}
