import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError } from '../../../client/protocol/errors.js';
import { FaultClock, faultKinds, parseFault } from '../../../power/simulator/faults.js';
import { parseSteps, steppedPower } from '../../../power/simulator/source.js';
import { failure } from '../../ctl/helpers/spikectl.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

const test = suite("the simulator's faults and steps");

const told = (work: () => unknown): [string, string] => {
  try {
    work();
  } catch (error) {
    if (error instanceof SpikedError) return [error.code, error.message];
    throw error;
  }
  throw new Error('no error');
};

test('a fault says what it is, how much, and when', () => {
  const none = { after: 0, count: Infinity, every: 1, rate: 1, fromS: 0, forS: Infinity };
  // By itself what damages a message does so once, and what lasts lasts.
  assert.equal(parseFault('late'), { ...none, kind: 'late', number: 800, count: 1 });
  assert.equal(parseFault('silent'), { ...none, kind: 'silent', number: 0 });
  assert.equal(parseFault('late:after=3,ms=900'), { ...none, kind: 'late', number: 900, after: 3, count: 1 });
  assert.equal(parseFault('flip:rate=0.05'), { ...none, kind: 'flip', number: 1, rate: 0.05 });
  assert.equal(parseFault('silent:at_s=2,for_s=1'), {
    ...none,
    kind: 'silent',
    number: 0,
    fromS: 2,
    forS: 1,
  });
  assert.equal(parseFault('hang-up:back_s=0.5'), { ...none, kind: 'hang-up', number: 0.5, count: 1 });
  for (const kind of Object.keys(faultKinds)) assert.is(parseFault(kind).kind, kind);
});

test('a fault that is none is told with what there is', () => {
  for (const [text, ...words] of [
    ['', 'expected one of late, torn'],
    ['lat', 'expected one of late, torn', '"lat"'],
    ['toString', '"toString"'],
    ['late:bits=1', 'after, count', 'ms', '"bits=1"'],
    ['silent:ms=1', '"ms=1"'],
    ['late:ms', '"ms"'],
    ['late:ms=', '"ms="'],
    ['late:ms=-1', '"ms=-1"'],
    ['late:ms=Infinity', '"ms=Infinity"'],
    ['late:ms=1,,', '""'],
    ['flip:rate=1.5', 'rate from 0 to 1', '1.5'],
  ] as const) {
    const [code, message] = told(() => parseFault(text));
    assert.is(code, 'ERR_INVALID_ARGUMENT', text);
    for (const word of words) assert.match(message, word);
  }
});

test('which messages a fault touches', () => {
  const touched = (text: string, n = 20, seconds = (i: number): number => i): number[] => {
    const clock = new FaultClock([parseFault(text)], 'message', 1);
    return Array.from({ length: n }, (_, i) => i + 1).filter((i) => clock.active(i, seconds(i)).length > 0);
  };
  assert.equal(touched('late'), [1]);
  assert.equal(touched('late:after=3'), [4]);
  assert.equal(touched('late:after=3,count=2'), [4, 5]);
  assert.equal(touched('late:after=3,every=5'), [4, 9, 14, 19]);
  assert.equal(touched('late:every=5,count=2'), [1, 6]);
  assert.equal(touched('silent:at_s=5,for_s=3'), [5, 6, 7]);
  const share = touched('flip:rate=0.25', 4000).length / 4000;
  assert.ok(share > 0.2 && share < 0.3, String(share));
  assert.equal(touched('frozen'), [], 'of values, not of messages');
});

test('power in steps: their energy in closed form, once and again and again', () => {
  const steps = parseSteps('t_s,watts\r\n# a comment\n1, 10\n\n3,20\n4,99\n', 'x.csv');
  assert.equal(steps, [
    { t_s: 1, watts: 10 },
    { t_s: 3, watts: 20 },
    { t_s: 4, watts: 99 },
  ]);
  const once = steppedPower(steps, false);
  for (const [t, joules] of [
    [0, 0],
    [0.5, 5],
    [2, 20],
    [3, 30],
    [3.5, 40],
    [4, 50],
    [6, 248],
  ] as const)
    assert.is(once.joulesUntil(t), joules, String(t));
  const again = steppedPower(steps, true);
  for (const [t, joules] of [
    [3.5, 40],
    [4, 50],
    [4.5, 55],
    [7.5, 90],
    [8, 100],
    [4000, 50_000],
  ] as const)
    assert.is(again.joulesUntil(t), joules, String(t));
});

test('steps that are none are told by their line', () => {
  for (const [text, line, words] of [
    ['', '', 'found none'],
    ['t_s,watts\n', '', 'found none'],
    ['0,5\n0,6', ':2', 'after the one before'],
    ['0,5\n-1,6', ':2', '-1,6'],
    ['-1,6', ':1', '-1,6'],
    ['0,5\n1', ':2', 'expected t_s,watts'],
    ['0,5\n1,2,3', ':2', '1,2,3'],
    ['0,five', ':1', 'five'],
    ['0,Infinity', ':1', 'Infinity'],
    ['0,', ':1', '0,'],
  ] as const) {
    const [code, message] = told(() => parseSteps(text, 'x.csv'));
    assert.is(code, 'ERR_TRACE_INVALID', text);
    assert.ok(message.startsWith(`x.csv${line}`), message);
    assert.match(message, words);
  }
  assert.match(told(() => steppedPower([{ t_s: 0, watts: 1 }], true))[1], 'a last step after 0 s');
});

test('meter simulate: bad usage is one line that says what is wrong', async () => {
  const trace = join(tempDir(), 'steps.csv');
  writeFileSync(trace, '0,5\n');
  for (const [args, words] of [
    [['--kind', 'pzm'], 'pzem'],
    [['--fault', 'lat'], 'expected one of late'],
    [['--watts', '5', '--trace', trace], 'found both'],
  ] as const)
    assert.match(await failure(['meter', 'simulate', ...args], 2, 'ERR_USAGE'), words);
  assert.match(
    await failure(['meter', 'simulate', '--trace', trace, '--repeat'], 1, 'ERR_TRACE_INVALID'),
    'a last step after 0 s',
  );
});

test.run();
