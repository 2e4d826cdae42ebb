import { orderOf } from '../../../power/experiment/order.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('order');
const arm = (name: string) => ({ name, request: {}, daemon: {} });
const arms = ['base', 'k32', 'k64'].map(arm);
const letters = (slots: readonly string[]) => slots.map((name) => (name === 'base' ? 'A' : 'B')).join('');

test('every candidate has its blocks, ABBA and BAAB in turn, two runs of each arm', () => {
  for (let seed = 0; seed < 50; seed++) {
    const blocks = orderOf({ arms, blocks: 5, seed });
    assert.equal(
      blocks.map(({ block }) => block),
      Array.from({ length: 10 }, (_, i) => i + 1),
    );
    for (const candidate of ['k32', 'k64']) {
      const own = blocks.filter((block) => block.candidate === candidate).map(({ slots }) => letters(slots));
      const [first = ''] = own;
      const other = first === 'ABBA' ? 'BAAB' : 'ABBA';
      assert.equal(own, [first, other, first, other, first]);
    }
    // A round is over before the next begins.
    for (let i = 0; i < blocks.length; i += 2)
      assert.is(new Set(blocks.slice(i, i + 2).map(({ candidate }) => candidate)).size, 2);
  }
});

test('is the same for the same seed, and the seed decides', () => {
  const shape = (seed: number) => JSON.stringify(orderOf({ arms, blocks: 4, seed }));
  assert.is(shape(7), shape(7));
  const shapes = new Set(Array.from({ length: 40 }, (_, seed) => shape(seed)));
  assert.ok(shapes.size > 10, `${shapes.size} orders of 40 seeds`);
  const starts = Array.from({ length: 200 }, (_, seed) =>
    letters(orderOf({ arms, blocks: 1, seed })[0]?.slots ?? []),
  );
  const abba = starts.filter((start) => start === 'ABBA').length;
  assert.ok(abba > 60 && abba < 140, `${abba} of 200 begin with ABBA`);
});

test('a linear drift cancels inside every block', () => {
  for (const { slots } of orderOf({ arms, blocks: 6, seed: 3 })) {
    const drift = slots.reduce((sum, name, time) => sum + (name === 'base' ? -time : time), 0);
    assert.is(drift, 0);
  }
});

test.run();
