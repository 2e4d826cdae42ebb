/** The tokenizer's thread: caps, odd text, broken models, closing. */
import { readPieceTable } from '../../native/host/piece-table.js';
import { openTokenizer } from '../../native/host/tokenizer.js';
import { assert, run, suite } from '../tools/suite.js';
import { failureOf } from './helpers/failure.js';
import { tinyTokenizer } from './helpers/tiny-tokenizer.js';

const test = suite('tokenizer');

test('encodes by the merges and falls back to bytes', async () => {
  const tokenizer = await openTokenizer(tinyTokenizer());
  const { pieces } = readPieceTable(tinyTokenizer());
  const texts = async (text: string): Promise<string[]> =>
    Array.from(await tokenizer.encode(text), (id) => pieces[id]?.text ?? '?');
  assert.equal(await texts('hello world'), ['\u2581hello', '\u2581w', 'o', 'r', 'l', 'd']);
  assert.equal(await texts('\u00e9'), ['\u2581', '\u00e9']);
  assert.equal(await texts('z'), ['\u2581', '<0x7A>']);
  assert.equal(await texts('<|user|>'), ['\u2581', '<|user|>']);
  assert.equal(await texts('<s>'), ['\u2581', '<0x3C>', '<0x73>', '<0x3E>']);
  assert.equal(await texts(''), []);
  for (const text of [
    'hello world',
    '\u{1f642} naïve\0\n\t能量',
    '\ufeff at the start of a longer text',
    '  two  spaces ',
  ])
    assert.is(await tokenizer.decode(await tokenizer.encode(text)), text);
  await tokenizer.close();
});

test('a lone surrogate is U+FFFD and leaves what follows alone', async () => {
  const tokenizer = await openTokenizer(tinyTokenizer());
  for (const text of ['a\ud800b', '\udc00', 'hello\ud83d', '\ud800\ud800o']) {
    const shown = new TextDecoder().decode(new TextEncoder().encode(text));
    assert.is(await tokenizer.decode(await tokenizer.encode(text)), shown);
    assert.equal(await tokenizer.encode(text), await tokenizer.encode(shown));
  }
  await tokenizer.close();
});

test('a text may have so many bytes and no more', async () => {
  const tokenizer = await openTokenizer(tinyTokenizer(), { maxTextBytes: 10 });
  assert.is((await tokenizer.encode('\u00e9'.repeat(5))).length, 6);
  for (const [text, bytes] of [
    ['\u00e9'.repeat(5) + 'o', 11],
    ['o'.repeat(11), 11],
    ['\u80fd'.repeat(4), 12],
  ] as const) {
    const error = await failureOf(() => tokenizer.encode(text));
    assert.is(error.code, 'ERR_TEXT_TOO_LONG');
    assert.is(error.message, `text: expected at most 10 bytes of UTF-8, found ${bytes}`);
  }
  await tokenizer.close();
  const usual = await openTokenizer(tinyTokenizer());
  assert.is((await usual.encode('h'.repeat(256 * 1024))).length, 256 * 1024 + 1);
  assert.is((await failureOf(() => usual.encode('h'.repeat(256 * 1024 + 1)))).code, 'ERR_TEXT_TOO_LONG');
  await usual.close();
});

test('a model that the library does not take is refused', async () => {
  // Well-formed for us, but without the piece that SentencePiece insists on.
  const model = tinyTokenizer({}, [
    ['a', 'normal'],
    ['b', 'normal'],
  ]);
  for (const bytes of [model, Buffer.from('rubbish'), new Uint8Array()])
    assert.is((await failureOf(() => openTokenizer(bytes))).code, 'ERR_TOKENIZER_INVALID');
});

test('many calls at once are answered each with its own', async () => {
  const tokenizer = await openTokenizer(tinyTokenizer());
  const words = Array.from({ length: 200 }, (_, i) => 'hello w'.repeat(i % 7) + String(i));
  const ids = await Promise.all(words.map((word) => tokenizer.encode(word)));
  for (const [i, word] of words.entries()) assert.is(await tokenizer.decode(ids[i] ?? []), word);
  await tokenizer.close();
});

test('closing ends the calls under way and refuses later ones', async () => {
  const tokenizer = await openTokenizer(tinyTokenizer());
  const work = [tokenizer.encode('hello'), tokenizer.encode('world')].map((call) => failureOf(() => call));
  const closing = tokenizer.close();
  for (const failure of work) assert.is((await failure).code, 'ERR_SESSION_CLOSED');
  await closing;
  assert.is((await failureOf(() => tokenizer.encode('x'))).code, 'ERR_SESSION_CLOSED');
  assert.is((await failureOf(() => tokenizer.decode([1]))).code, 'ERR_SESSION_CLOSED');
  await tokenizer.close();
});

test('an idle tokenizer does not keep the process alive, a busy one does', async () => {
  const program = `
    import { openTokenizer } from ${JSON.stringify(new URL('../../native/host/tokenizer.js', import.meta.url).href)};
    const t = await openTokenizer(Uint8Array.from(${JSON.stringify([...tinyTokenizer()])}));
    void t.encode('hello').then((ids) => process.stdout.write(String(ids.length)));
  `;
  const result = await run(process.execPath, ['--input-type=module', '-e', program], { timeoutMs: 30_000 });
  assert.equal([result.code, result.stdout, result.stderr], [0, '1', '']);
});

test.run();
