import { StopMatcher } from '../../daemon/text/stop-matcher.js';
import { Random } from '../protocol/random-values.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('stop matcher');

interface Outcome {
  text: string;
  stop: string | null;
}

function feed(stops: string[], pieces: string[]): Outcome {
  const matcher = new StopMatcher(stops);
  let text = '';
  for (const piece of pieces) {
    const matched = matcher.push(piece);
    text += matched.text;
    if (matched.stop !== null) return { text, stop: matched.stop };
  }
  return { text: text + matcher.end(), stop: null };
}

/** The rule, read off the whole text: what ends first wins, of those what begins first. */
function reference(stops: string[], text: string): Outcome {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops
      .filter((stop) => text.slice(0, end).endsWith(stop))
      .sort((a, b) => b.length - a.length);
    if (ending[0] !== undefined) return { text: text.slice(0, end - ending[0].length), stop: ending[0] };
  }
  return { text, stop: null };
}

test('holds back what may become a stop string, and no more', () => {
  const matcher = new StopMatcher(['END', 'E\n']);
  assert.equal(matcher.push('fooE'), { text: 'foo', stop: null });
  assert.equal(matcher.push('N'), { text: '', stop: null });
  assert.equal(matcher.push('E'), { text: 'EN', stop: null });
  assert.equal(matcher.push('x'), { text: 'Ex', stop: null });
  assert.equal(matcher.push('y'), { text: 'y', stop: null });
});

test('leaves out the stop string and what comes after it', () => {
  assert.equal(feed(['STOP'], ['ab', 'ST', 'OPcd']), { text: 'ab', stop: 'STOP' });
  assert.equal(feed(['STOP'], ['STOP']), { text: '', stop: 'STOP' });
});

test('gives back what was held when the text ends', () => {
  assert.equal(feed(['STOP'], ['abSTO']), { text: 'abSTO', stop: null });
});

test('without stop strings everything passes at once', () => {
  assert.equal(new StopMatcher([]).push('abc'), { text: 'abc', stop: null });
});

test('any split gives the result of the whole text', () => {
  const random = new Random(5);
  for (let round = 0; round < 5000; round++) {
    const word = (most: number): string =>
      Array.from({ length: 1 + random.below(most) }, () => random.pick(['a', 'b', 'é'])).join('');
    const stops = Array.from({ length: 1 + random.below(3) }, () => word(4));
    const text = word(14);
    const pieces: string[] = [];
    for (let at = 0; at < text.length;) {
      const size = random.below(4);
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    assert.equal(
      feed(stops, pieces),
      reference(stops, text),
      `round ${String(round)}: ${JSON.stringify({ stops, pieces })}`,
    );
  }
});

test.run();
