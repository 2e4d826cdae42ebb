/** Tokenizer files from anywhere: read, or refused by name. */
import { SpikedError } from '../../client/protocol/errors.js';
import { Detokenizer } from '../../native/host/detokenizer.js';
import { readPieceTable } from '../../native/host/piece-table.js';
import { assert, suite } from '../tools/suite.js';
import { Random } from '../export/helpers/random.js';
import { failureOf } from './helpers/failure.js';
import { bytesField, pieces, tinyTokenizer } from './helpers/tiny-tokenizer.js';

const test = suite('piece table');

test('ids, kinds and special pieces', () => {
  const table = readPieceTable(tinyTokenizer());
  assert.is(table.size, pieces.length);
  assert.equal([table.padId, table.bosId, table.eosId, table.unkId], [0, 1, 2, 3]);
  assert.is(table.idOf('<|user|>'), 4);
  assert.is(table.idOf('<|endofassistant|>'), undefined);
  assert.equal(table.pieces[5 + 0xab], { text: '<0xAB>', kind: 'byte', byte: 0xab });
  assert.is(table.dropsLeadingSpace, 'once');
  assert.is(readPieceTable(tinyTokenizer({ removeExtraSpaces: true })).dropsLeadingSpace, 'until_text');
  assert.is(readPieceTable(tinyTokenizer({ dummyPrefix: false })).dropsLeadingSpace, 'never');
});

const good = [...tinyTokenizer()];
const refused: [what: string, bytes: number[], message: RegExp][] = [
  ['nothing', [], /expected pieces, found none/],
  ['text', [...Buffer.from('rubbish, no model')], /expected/],
  ['a cut file', good.slice(0, 100), /byte \d+: expected \d+ bytes, found \d+/],
  ['a cut varint', [0x0a, 0x80], /expected a varint, found the end/],
  ['an endless varint', [0x08, ...Array<number>(11).fill(0xff)], /expected a varint of 64 bits/],
  ['field 0', [0x02, 0x00], /expected a field number, found 0/],
  ['a group', [0x0b, 0x0c], /expected wire type 0, 1, 2 or 5, found 3/],
  [
    'a length beyond the file',
    [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    /expected \d+ bytes, found 0/,
  ],
  ['an integer for a piece', [0x08, 0x01], /field 1: expected bytes, found varint/],
  ['a piece without text', [...good, ...bytesField(1, [0x18, 0x01])], /expected a text, found none/],
  [
    'an unknown kind',
    [...good, ...bytesField(1, [0x0a, 0x01, 0x7a, 0x18, 0x07])],
    /expected a type from 1 to 6, found 7/,
  ],
  ['text that is no UTF-8', [...good, ...bytesField(1, bytesField(1, [0xff]))], /field 1: expected UTF-8/],
  ['a piece twice', [...good, ...bytesField(1, bytesField(1, [0x68]))], /expected different texts/],
  [
    'a byte piece of another form',
    [...good, ...bytesField(1, [0x0a, 0x01, 0x7a, 0x18, 0x06])],
    /expected the form <0xAB>/,
  ],
  ['a denormalizer', [...tinyTokenizer({ denormalizer: true })], /denormalizer_spec: expected no rules/],
];
for (const [what, bytes, message] of refused) {
  test(`refuses ${what}`, async () => {
    const error = await failureOf(() => readPieceTable(Uint8Array.from(bytes)));
    assert.ok(error instanceof SpikedError, error.stack ?? '');
    assert.is(error.code, 'ERR_TOKENIZER_INVALID');
    assert.match(error.message, message);
  });
}

test('files bent at random are read or refused, never worse', () => {
  const rounds = process.env['SPIKED_TEST_LONG'] === '1' ? 100_000 : 4000;
  const random = new Random(11);
  let read = 0;
  for (let round = 0; round < rounds; round++) {
    let bytes = Uint8Array.from(good);
    for (let changes = 1 + random.below(4); changes > 0; changes--) {
      const at = random.below(bytes.length);
      const how = random.below(8);
      if (how === 0) bytes = bytes.slice(0, at + 1);
      else if (how === 1)
        bytes = Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(random.below(at + 1))]);
      else bytes[at] = random.below(256);
    }
    try {
      const table = readPieceTable(bytes);
      const detokenizer = new Detokenizer(table);
      for (let id = 0; id < table.size; id++) detokenizer.push(id);
      read++;
    } catch (error) {
      if (!(error instanceof SpikedError) || error.code !== 'ERR_TOKENIZER_INVALID') throw error;
    }
  }
  assert.ok(read > rounds / 20 && read < rounds * 0.95, `${read} of ${rounds} read: too one-sided to tell`);
});

test.run();
