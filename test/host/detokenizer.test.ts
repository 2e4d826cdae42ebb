/** Streams of ids against the text that the real library decodes from all of them. */
import { ByteRun } from '../../native/host/byte-run.js';
import { Detokenizer } from '../../native/host/detokenizer.js';
import { readPieceTable, type PieceTable } from '../../native/host/piece-table.js';
import { assert, suite } from '../tools/suite.js';
import { Random } from '../export/helpers/random.js';
import { failureOf } from './helpers/failure.js';
import { libraryDecoder } from './helpers/library.js';
import { tinyTokenizer } from './helpers/tiny-tokenizer.js';

const test = suite('detokenizer');

function pushAll(table: PieceTable, ids: readonly number[]): string[] {
  const detokenizer = new Detokenizer(table);
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.end()];
}
const byteIds = (text: string | number[]): number[] =>
  [...Buffer.from(text as string)].map((byte) => 5 + byte);

test('pieces come as soon as they are certain', () => {
  const table = readPieceTable(tinyTokenizer());
  const id = (text: string): number => table.idOf(text) ?? NaN;
  const cases: [ids: number[], parts: string[]][] = [
    [
      [id('\u2581hello'), id('\u2581w'), id('o')],
      ['hello', ' w', 'o', ''],
    ],
    [
      [1, id('\u2581hello'), 2],
      ['', 'hello', '', ''],
    ],
    [
      [4, id('\u2581hello')],
      ['<|user|>', ' hello', ''],
    ],
    [
      [3, 3],
      [' \u2047 ', ' \u2047 ', ''],
    ],
    [byteIds('\u00e9'), ['', '\u00e9', '']],
    [byteIds('\u{1f642}'), ['', '', '', '\u{1f642}', '']],
    [
      [...byteIds('\u{1f642}').slice(0, 3), id('o')],
      ['', '', '', '\ufffd\ufffd\ufffdo', ''],
    ],
    [byteIds('\u80fd').slice(0, 2), ['', '', '\ufffd\ufffd']],
    [byteIds('\ufeff'), ['', '', '\ufeff', '']],
  ];
  for (const [ids, parts] of cases) assert.equal(pushAll(table, ids), parts, `ids ${ids.join(' ')}`);
});

test('bytes that are no UTF-8 become one U+FFFD each', () => {
  const texts: [number[], string][] = [
    [[0xff, 0x41], '\ufffdA'],
    [[0xc3, 0x41], '\ufffdA'],
    [[0xe4, 0xbd, 0xc3, 0xa9], '\ufffd\ufffd\u00e9'],
    [[0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'], // a surrogate
    [[0xc0, 0x80], '\ufffd\ufffd'], // overlong
    [[0xf4, 0x90, 0x80, 0x80], '\ufffd\ufffd\ufffd\ufffd'], // beyond U+10FFFF
    [[0xef, 0xbf, 0xbd], '\ufffd'], // U+FFFD itself
    [[0xf0, 0x9f, 0xf0, 0x9f, 0x99, 0x82], '\ufffd\ufffd\u{1f642}'],
    [[0x00], '\0'],
  ];
  for (const [bytes, text] of texts) {
    const run = new ByteRun();
    assert.is(bytes.map((byte) => run.push(byte)).join('') + run.end(), text, bytes.join(' '));
  }
});

for (const options of [
  {},
  { dummyPrefix: false },
  { removeExtraSpaces: true },
  { dummyPrefix: false, removeExtraSpaces: true },
]) {
  test(`random ids, ${JSON.stringify(options)}: the parts join to the library's text`, async () => {
    const model = tinyTokenizer(options);
    const table = readPieceTable(model);
    const decode = await libraryDecoder(Buffer.from(model));
    const random = new Random(7);
    const spaces = table.pieces.flatMap(({ text }, id) => (text.startsWith('\u2581') ? [id] : []));
    for (let round = 0; round < 3000; round++) {
      const one = (): number =>
        [
          random.below(table.size),
          random.below(5),
          random.pick(spaces),
          5 + 0xc0 + random.below(64),
          5 + 0x80,
        ][random.below(5)] ?? 0;
      const ids = Array.from({ length: 1 + random.below(8) }, one);
      const parts = pushAll(table, ids);
      for (const part of parts)
        assert.is(Buffer.from(part).toString(), part, 'a part ends inside a character');
      assert.is(parts.join(''), decode(ids), `ids ${ids.join(' ')}`);
    }
  });
}

test('an id outside the vocabulary is refused', async () => {
  const detokenizer = new Detokenizer(readPieceTable(tinyTokenizer()));
  for (const id of [-1, 1e9, 0.5, NaN]) {
    const error = await failureOf(() => detokenizer.push(id));
    assert.is(error.code, 'ERR_TOKEN_UNKNOWN');
    assert.match(error.message, /expected an id from 0 to \d+, found /);
  }
});

test.run();
