/** Byte-level BPE from a model file: against its definition written out, against another implementation, and with damaged files. */
import * as library from '@huggingface/tokenizers';
import { splitText } from '../../native/host/bpe/split.js';
import { openModelTokenizer, type Tokenizer } from '../../native/host/tokenizer.js';
import { assert, suite } from '../tools/suite.js';
import {
  characters,
  definedBpe,
  fileOf,
  keysOf,
  smallVocabulary,
  specials,
  vocabulary,
  written,
  type Bpe,
  type Keys,
} from './helpers/byte-bpe.js';
import { failureOf } from './helpers/failure.js';

const test = suite('bpe');

/** The part of the library that we use; its types cannot be read. */
const { Tokenizer: OtherTokenizer } = library as unknown as {
  Tokenizer: new (
    tokenizer: object,
    config: object,
  ) => { encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] } };
};

async function opened(bpe: Bpe, keys: Keys = {}): Promise<Tokenizer> {
  const tokenizer = await openModelTokenizer(fileOf({ ...keysOf(bpe), ...keys }));
  if (!tokenizer) throw new Error('no tokenizer');
  return tokenizer;
}

/** mulberry32 */
function randomBelow(seed: number): (n: number) => number {
  let a = seed;
  return (n) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0 ? ((t ^ (t >>> 14)) >>> 0) % n : 0;
  };
}

const parts = [
  'Hello', ' world', ' the', ' there', ' whole', ' wholes', "'re", "'S", '123', '4', '\n', '\n\n', ' ', '  ', '\t', '能量', '能', '\u{1f642}', '!',
  'ing', ' a', '\u0301', '\ufeff', '\u0085', 'z', '<|eot_id|>', '\0', '\u00ff', '_', '\u0661',
]; // prettier-ignore

function texts(seed: number, n: number): string[] {
  const below = randomBelow(seed);
  return Array.from({ length: n }, () =>
    Array.from({ length: below(10) }, () => parts[below(parts.length)] ?? '').join(''),
  );
}

/** Merges of any two earlier tokens, in an order that no trainer would give: the ranks alone decide. */
function wildVocabulary(seed: number): Bpe {
  const below = randomBelow(seed);
  const tokens = Array.from('abcd');
  const merges: [string, string][] = [];
  while (merges.length < 60) {
    const [left = '', right = ''] = [tokens[below(tokens.length)], tokens[below(tokens.length)]];
    if (left.length + right.length > 6 || merges.some(([a, b]) => a === left && b === right)) continue;
    merges.push([left, right]);
    if (!tokens.includes(left + right)) tokens.push(left + right);
  }
  merges.sort(() => below(3) - 1);
  return vocabulary(merges);
}

test('gives the ids of the definition', async () => {
  const small = smallVocabulary();
  const tokenizer = await opened(small);
  for (const text of texts(1, 400)) {
    const expected = [...splitText(text)].flatMap((piece) => definedBpe(small, piece));
    assert.equal([...(await tokenizer.encode(text))], expected, JSON.stringify(text));
  }
  await tokenizer.close();
  for (const seed of [2, 3, 4]) {
    const wild = wildVocabulary(seed);
    const other = await opened(wild);
    const below = randomBelow(seed);
    for (let i = 0; i < 150; i++) {
      const piece = Array.from({ length: 1 + below(24) }, () => 'abcd'[below(4)]).join('');
      assert.equal([...(await other.encode(piece))], definedBpe(wild, piece), piece);
    }
    await other.close();
  }
});

test('gives the ids of another implementation', async () => {
  const small = smallVocabulary();
  const tokenizer = await opened(small);
  const other = new OtherTokenizer(
    {
      version: '1.0',
      normalizer: null,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          {
            type: 'Split',
            pattern: {
              Regex:
                "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
            },
            behavior: 'Isolated',
            invert: false,
          },
          { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
        ],
      },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(small.tokens.map((token, id) => [token, id])),
        merges: small.merges,
        ignore_merges: true,
      },
      post_processor: null,
      decoder: { type: 'ByteLevel' },
      added_tokens: [],
    },
    {},
  );
  for (const text of texts(5, 400))
    assert.equal(
      [...(await tokenizer.encode(text))],
      other.encode(text, { add_special_tokens: false }).ids,
      JSON.stringify(text),
    );
  await tokenizer.close();
});

test('a piece that is a token stays whole, whatever the merges say', async () => {
  const small = smallVocabulary();
  const tokenizer = await opened(small);
  assert.equal([...(await tokenizer.encode(' whole'))], [small.tokens.indexOf(written(' whole'))]);
  assert.equal(
    [...(await tokenizer.encode(' wholes'))],
    [' w', 'h', 'o', 'l', 'e', 's'].map((text) => small.tokens.indexOf(written(text))),
  );
  await tokenizer.close();
});

test('any text comes back, streamed by whole characters', async () => {
  const tokenizer = await opened(smallVocabulary());
  const below = randomBelow(6);
  for (let i = 0; i < 200; i++) {
    const text = Array.from({ length: below(20) }, () => {
      const point = below(below(2) === 0 ? 0x300 : 0x110000);
      return point >= 0xd800 && point < 0xe000 ? ' ' : String.fromCodePoint(point);
    }).join('');
    const ids = await tokenizer.encode(text);
    assert.is(await tokenizer.decode(ids), text);
    const decoder = tokenizer.detokenizer();
    let streamed = '';
    for (const id of ids) {
      const piece = decoder.push(id);
      assert.ok(piece.isWellFormed() && (text.includes('\ufffd') || !piece.includes('\ufffd')), text);
      streamed += piece;
    }
    assert.is(streamed + decoder.end(), text);
  }
  await tokenizer.close();
});

test('bytes that are no character become U+FFFD each', async () => {
  const { tokens } = smallVocabulary();
  const tokenizer = await opened(smallVocabulary());
  const ids = [0xe8, 0x83, 0x41, 0xff].map((byte) => tokens.indexOf(characters[byte] ?? ''));
  assert.is(await tokenizer.decode(ids), '\ufffd\ufffdA\ufffd');
  assert.is(await tokenizer.decode(ids.slice(0, 2)), '\ufffd\ufffd');
  await tokenizer.close();
});

test('names of specials are text in a text, and specials show as nothing', async () => {
  const { tokens } = smallVocabulary();
  const tokenizer = await opened(smallVocabulary());
  for (const name of specials) {
    const ids = [...(await tokenizer.encode(name))];
    assert.not(ids.includes(tokens.indexOf(name)), name);
    assert.is(await tokenizer.decode(ids), name);
    assert.is(await tokenizer.decode([tokens.indexOf(name)]), '', name);
    assert.is(tokenizer.pieces.kindOf(tokens.indexOf(name)), 'control');
  }
  await tokenizer.close();
});

test('knows BOS and the ids that end a text, by key or by name', async () => {
  const small = smallVocabulary();
  const id = (name: string): number => small.tokens.indexOf(name);
  const ends = [id('<|end_of_text|>'), id('<|eot_id|>')];
  const allNormal = Int32Array.from(small.types, () => 1);
  for (const [keys, bosId, eosId, stopIds] of [
    [{}, id('<|begin_of_text|>'), id('<|end_of_text|>'), ends],
    [{ 'tokenizer.ggml.pre': 'llama-bpe' }, id('<|begin_of_text|>'), id('<|end_of_text|>'), ends],
    [{ 'tokenizer.ggml.eos_token_id': id('<|x|>') }, id('<|begin_of_text|>'), id('<|x|>'), [id('<|x|>'), ...ends]],
    [{ 'tokenizer.ggml.add_bos_token': false }, undefined, id('<|end_of_text|>'), ends],
    [
      {
        'tokenizer.ggml.bos_token_id': undefined,
        'tokenizer.ggml.eos_token_id': undefined,
        'tokenizer.ggml.add_bos_token': undefined,
        'tokenizer.ggml.token_type': allNormal,
      },
      id('<|begin_of_text|>'),
      id('<|end_of_text|>'),
      ends,
    ],
  ] as const) {
    const tokenizer = await opened(small, keys);
    const { pieces } = tokenizer;
    assert.is(pieces.bosId, bosId);
    assert.is(pieces.eosId, eosId);
    assert.equal(pieces.stopIds, stopIds);
    assert.is(await tokenizer.decode([...ends, id('<|begin_of_text|>')]), '');
    await tokenizer.close();
  }
}); // prettier-ignore

test('refuses text that is no Unicode', async () => {
  const tokenizer = await opened(smallVocabulary());
  for (const text of ['a\ud800', '\udc00b', Buffer.of(0x61, 0xff), Buffer.of(0xed, 0xa0, 0x80)]) {
    const error = await failureOf(() => tokenizer.encode(text));
    assert.is(error.code, 'ERR_INVALID_ARGUMENT');
    assert.match(error.message, /expected Unicode/);
  }
  assert.is(await tokenizer.decode(await tokenizer.encode(Buffer.from('\ufeff能'))), '\ufeff能');
  await tokenizer.close();
});

test('takes pieces as long as a text may be', async () => {
  const tokenizer = await opened(vocabulary([['a', 'a'], ['aa', 'aa'], ['Ġ', 'Ġ']]));
  const long = 256 * 1024;
  assert.is((await tokenizer.encode('a'.repeat(long))).length, long / 4);
  assert.is((await tokenizer.encode(' '.repeat(long))).length, long / 2);
  const error = await failureOf(() => tokenizer.encode('a'.repeat(long + 1)));
  assert.is(error.code, 'ERR_TEXT_TOO_LONG');
  await tokenizer.close();
}); // prettier-ignore

test('refuses damaged files by the name of the key', async () => {
  const small = smallVocabulary();
  const { tokens, merges } = small;
  const asText = merges.map((pair) => pair.join(' '));
  const t = 'tokenizer.ggml.tokens';
  const m = 'tokenizer.ggml.merges';
  const type = 'tokenizer.ggml.token_type';
  const cases: [Keys, string, RegExp][] = [
    [{ 'tokenizer.ggml.model': 'llama' }, 'tokenizer.ggml.model', /found "llama"/],
    [{ 'tokenizer.ggml.model': undefined }, 'tokenizer.ggml.model', /no such key/],
    [{ 'tokenizer.ggml.pre': 'gpt-2' }, 'tokenizer.ggml.pre', /expected "llama-bpe", found "gpt-2"/],
    [{ [t]: tokens.with(270, tokens[269] ?? '') }, t, /token 270.*that of token 269/],
    [{ [t]: [...tokens.slice(0, 260), Buffer.of(0xff, 0x61), ...tokens.slice(261)] }, t, /token 260: expected UTF-8/],
    [{ [t]: tokens.with(260, 'a b') }, t, /token 260: expected bytes written as characters/],
    [{ [t]: tokens.with(260, '') }, t, /token 260.*empty/],
    [{ [t]: tokens.with(65, 'not a byte') }, t, /./],
    [{ [t]: tokens.with(65, 'notabyte'), [m]: [] }, t, /256 bytes.*found none for 65/],
    [{ [t]: Int32Array.of(1, 2) }, t, /array of string, found i32/],
    [{ [m]: undefined }, m, /no such key/],
    [{ [m]: asText.with(3, 'ab') }, m, /merge 3: expected two tokens with one space/],
    [{ [m]: asText.with(3, 'a b c') }, m, /merge 3: expected two tokens with one space/],
    [{ [m]: asText.with(3, ' b') }, m, /merge 3: expected two tokens with one space/],
    [{ [m]: asText.with(3, 'qq q') }, m, /merge 3: expected two tokens of the vocabulary.*"qq q"/],
    [{ [m]: asText.with(3, 'q q') }, m, /merge 3: expected two tokens of the vocabulary/],
    [{ [m]: asText.with(3, '<| x|>') }, m, /merge 3: expected two tokens of the vocabulary/],
    [{ [m]: asText.with(3, asText[1] ?? '') }, m, /merge 3: expected it once, as merge 1/],
    [{ [type]: Int32Array.of(1) }, type, /as many entries as tokens/],
    [{ [type]: Int32Array.from(small.types, () => 9) }, type, /token 0: expected a type from 1 to 5, found 9/],
    [{ 'tokenizer.ggml.bos_token_id': tokens.length }, 'tokenizer.ggml.bos_token_id', /expected an id from 0 to/],
    [{ 'tokenizer.ggml.eos_token_id': 4_000_000_000 }, 'tokenizer.ggml.eos_token_id', /expected an id from 0 to/],
    [{ 'tokenizer.ggml.eos_token_id': 'x' }, 'tokenizer.ggml.eos_token_id', /expected an id from 0 to/],
    [{ 'tokenizer.ggml.add_bos_token': 1 }, 'tokenizer.ggml.add_bos_token', /true or false/],
  ]; // prettier-ignore
  for (const [keys, key, pattern] of cases) {
    const path = fileOf({ ...keysOf(small), ...keys });
    const error = await failureOf(() => openModelTokenizer(path));
    assert.is(error.code, 'ERR_TOKENIZER_INVALID', `${key}: ${error.message}`);
    assert.ok(error.message.startsWith(path) && error.message.includes(`"${key}"`), error.message);
    assert.match(error.message, pattern);
  }
});

test('a file without tokens has no tokenizer', async () => {
  assert.is(await openModelTokenizer(fileOf({ ...keysOf(smallVocabulary()), 'tokenizer.ggml.tokens': undefined })), null);
  assert.is(await openModelTokenizer(fileOf({ 'general.architecture': 'bitnet-b1.58' })), null);
}); // prettier-ignore

test.run();
