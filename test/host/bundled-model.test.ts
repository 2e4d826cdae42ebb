/** The model in the repository: its bytes, its tokenizer, and that it speaks. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/addon.js';
import { digestModel } from '../../native/host/model-digest.js';
import { describeModel, readFileBytes } from '../../native/host/model-file.js';
import { openTokenizer, type Tokenizer } from '../../native/host/tokenizer.js';
import { Random } from '../export/helpers/random.js';
import { greedy } from '../session/runs.js';
import { assert, root, suite } from '../tools/suite.js';
import { libraryDecoder } from './helpers/library.js';

const test = suite('bundled model');
const path = process.env['SPIKED_TEST_MODEL'] ?? join(root, 'models', 'default.gguf');
const missing = existsSync(path) ? undefined : 'no models/default.gguf in the checkout';

async function tokenizerBytes(): Promise<Uint8Array> {
  const { tokenizer } = await describeModel(path);
  if (tokenizer === undefined) throw new Error(`${path}: expected a tokenizer inside, found none`);
  return readFileBytes(path, tokenizer);
}

async function withTokenizer(body: (tokenizer: Tokenizer) => Promise<void>): Promise<void> {
  const tokenizer = await openTokenizer(await tokenizerBytes());
  await body(tokenizer);
  await tokenizer.close();
}

test.needs(missing, 'its data is what the file declares', async () => {
  assert.is((await digestModel(await describeModel(path))).matches, true);
});

test.needs(missing, 'its tokenizer gives back the text it encodes', async () => {
  await withTokenizer(async (tokenizer) => {
    const texts = [
      'In the beginning God created the heaven and the earth.',
      'It is a truth universally acknowledged, that a single man in possession of a good fortune',
      '1234567890 !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
      'na\u00efve caf\u00e9 \u80fd\u91cf \u{1f642} \u0000 \u200d',
    ];
    for (const text of texts) assert.is(await tokenizer.decode(await tokenizer.encode(text)), text);
    assert.ok((await tokenizer.encode(texts[0] ?? '')).length < 25, 'English text takes too many ids');
    const { bosId, eosId } = tokenizer.pieces;
    assert.ok(bosId !== undefined && eosId !== undefined, 'no BOS or EOS');
  });
});

test.needs(missing, 'random ids stream as the library decodes them', async () => {
  const decode = await libraryDecoder(Buffer.from(await tokenizerBytes()));
  await withTokenizer(async (tokenizer) => {
    const random = new Random(3);
    for (let round = 0; round < 500; round++) {
      const ids = Array.from({ length: 1 + random.below(10) }, () =>
        random.below(random.below(2) === 0 ? 300 : tokenizer.pieces.size),
      );
      const detokenizer = tokenizer.detokenizer();
      const text = ids.map((id) => detokenizer.push(id)).join('') + detokenizer.end();
      assert.is(text, decode(ids), `ids ${ids.join(' ')}`);
    }
  });
});

test.needs(missing, 'it continues a text with words, the same on every instruction set', async () => {
  await withTokenizer(async (tokenizer) => {
    const prompt = await tokenizer.encode('And God said,');
    const said = new Set<string>();
    for (const { name, supported } of addon().isas()) {
      if (!supported) continue;
      const engine = addon().openEngine({ threads: 2, isa: name });
      const model = await engine.openModel(path);
      assert.is(model.info.validVocabSize, tokenizer.pieces.size);
      const session = model.openSession();
      const ids: number[] = [];
      let feed = Int32Array.of(tokenizer.pieces.bosId ?? 0, ...prompt);
      for (let i = 0; i < 24; i++) {
        const { id } = await session.step(feed, greedy);
        ids.push(id);
        feed = Int32Array.of(id);
      }
      said.add(await tokenizer.decode(ids));
      model.close();
      engine.close();
    }
    const [text = '', ...others] = said;
    assert.equal(others, []);
    assert.match(text, /[a-z]+ [a-z]+ [a-z]+/);
  });
});

test.run();
