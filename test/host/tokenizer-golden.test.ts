/** Ids, texts and streams of the released tokenizers against the real SentencePiece library. */
import { Detokenizer } from '../../native/host/detokenizer.js';
import { openTokenizer } from '../../native/host/tokenizer.js';
import { readPieceTable } from '../../native/host/piece-table.js';
import { assert, suite } from '../tools/suite.js';
import { libraryDecoder } from './helpers/library.js';
import { missingTokenizers, readCases, readModel, released } from './helpers/tokenizers.js';

const test = suite('tokenizer golden');

function streamed(detokenizer: Detokenizer, ids: readonly number[]): string {
  let text = '';
  for (const id of ids) {
    const piece = detokenizer.push(id);
    assert.is(Buffer.from(piece).toString(), piece, `id ${id}: a piece ends inside a character`);
    text += piece;
  }
  return text + detokenizer.end();
}

for (const { key, file } of released) {
  test.needs(missingTokenizers, `${key}: every text encodes and decodes as in the reference`, async () => {
    const tokenizer = await openTokenizer(readModel(file));
    const { cases, byte_input_cases, decode_cases } = readCases();
    assert.ok(
      cases.length > 300 && decode_cases.length > 100 && byte_input_cases.length > 5,
      'too few cases',
    );
    for (const { i, text, [key]: expected } of cases) {
      assert.equal(Array.from(await tokenizer.encode(text)), expected.ids, `case ${i}: ids`);
      assert.is(await tokenizer.decode(expected.ids), expected.decode, `case ${i}: decode`);
    }
    for (const { hex, [key]: expected } of byte_input_cases)
      assert.equal(Array.from(await tokenizer.encode(Buffer.from(hex, 'hex'))), expected.ids, `bytes ${hex}`);
    for (const { ids, [key]: expected } of decode_cases)
      assert.is(await tokenizer.decode(ids), expected, `ids ${ids.join(' ')}`);
    await tokenizer.close();
  });

  test.needs(missingTokenizers, `${key}: a stream of pieces joins to the reference's text`, () => {
    const table = readPieceTable(readModel(file));
    const { cases, decode_cases } = readCases();
    for (const { i, [key]: expected } of cases)
      assert.is(streamed(new Detokenizer(table), expected.ids), expected.decode, `case ${i}`);
    for (const { ids, [key]: expected } of decode_cases)
      assert.is(streamed(new Detokenizer(table), ids), expected, `ids ${ids.join(' ')}`);
  });

  test.needs(missingTokenizers, `${key}: random ids stream as the library decodes them`, async () => {
    const model = readModel(file);
    const table = readPieceTable(model);
    const decode = await libraryDecoder(model);
    // Mostly the ids with rules of their own: control, unknown, user-defined, bytes; spaces next.
    const special = Array.from({ length: 300 }, (_, id) => id);
    const spaced = table.pieces
      .flatMap(({ text }, id) => (text.startsWith('\u2581') ? [id] : []))
      .slice(0, 300);
    let state = 20_260_101;
    const random = (n: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    const pick = (ids: readonly number[]): number => ids[random(ids.length)] ?? 0;
    for (let round = 0; round < 500; round++) {
      const ids = Array.from({ length: 1 + random(12) }, () =>
        random(3) === 0 ? random(table.size) : pick(random(2) === 0 ? special : spaced),
      );
      assert.is(streamed(new Detokenizer(table), ids), decode(ids), `ids ${ids.join(' ')}`);
    }
  });
}

test.run();
