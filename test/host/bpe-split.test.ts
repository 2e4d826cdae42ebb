/** Llama 3's pattern against its alternatives, by hand. */
import { splitText } from '../../native/host/bpe/split.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('bpe split');

const cases: [string, string[]][] = [
  ['', []],
  // 1: contractions, any case, before what follows
  ["I'm we'RE it'S you'll he'D I've can't", ['I', "'m", ' we', "'RE", ' it', "'S", ' you', "'ll", ' he', "'D", ' I', "'ve", ' can', "'t"]],
  ["'tis 'sun", ["'t", 'is', " '", 'sun']],
  ['it\u2019s', ['it', '\u2019s']],
  ["x'\u017f", ['x', "'\u017f"]],
  // 2: letters with one sign or space in front
  ['a b  c', ['a', ' b', ' ', ' c']],
  ['(word)_x\tTab', ['(word', ')_', 'x', '\tTab']],
  ['"\u00c4rger" na\u00efve', ['"\u00c4rger', '"', ' na\u00efve']],
  ['能量是。它', ['能量是', '。它']],
  // combining marks are no letters, and nothing is normalised
  ['cafe\u0301s', ['cafe', '\u0301s']],
  ['caf\u00e9s', ['caf\u00e9s']],
  ['e\u0301', ['e', '\u0301']],
  // 3: digits in threes, of any script, without a space in front
  ['1234567', ['123', '456', '7']],
  [' 42 3.14', [' ', '42', ' ', '3', '.', '14']],
  ['\u0661\u0662\u0663\u0664', ['\u0661\u0662\u0663', '\u0664']],
  ['\u00bdx\u2167', ['\u00bd', 'x', '\u2167']],
  // 4: other signs with a space in front and line ends behind
  ['wait... !?\n\r\nyes', ['wait', '...', ' !?\n\r\n', 'yes']],
  ['<|eot_id|>', ['<|', 'eot', '_id', '|>']],
  [' \u{1f642}\u{1f469}\u200d\u{1f469}', [' \u{1f642}\u{1f469}\u200d\u{1f469}']],
  // 5: line ends with the white space before them
  ['a \t\n\n b', ['a', ' \t\n\n', ' b']],
  ['\r\n\r\n', ['\r\n\r\n']],
  // 6 and 7: white space; the last one goes with what follows
  ['a   b', ['a', '  ', ' b']],
  ['a   ', ['a', '   ']],
  ['a   1', ['a', '  ', ' ', '1']],
  ['User: ', ['User', ':', ' ']],
  ['a\u00a0\u3000b', ['a', '\u00a0', '\u3000b']],
  // White_Space and not what JavaScript calls so
  ['a\u0085\u0085b', ['a', '\u0085', '\u0085b']],
  ['\ufeffb', ['\ufeffb']],
  ['\ufeff\ufeffb', ['\ufeff\ufeff', 'b']],
  ['\ufeff\ufeff!', ['\ufeff\ufeff!']],
]; // prettier-ignore

test('cuts as its alternatives say', () => {
  for (const [text, pieces] of cases) assert.equal([...splitText(text)], pieces, JSON.stringify(text));
});

test('loses nothing', () => {
  let state = 7;
  const random = (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const signs = Array.from(" \t\n\r'sStTa1!\u00a0\u0085\ufeff\u0301能\u{1f642}\u0661_");
  for (let i = 0; i < 3000; i++) {
    const text = Array.from({ length: random(12) }, () => signs[random(signs.length)] ?? '').join('');
    const pieces = [...splitText(text)];
    assert.is(pieces.join(''), text);
    assert.not(pieces.includes(''));
  }
});

test.run();
