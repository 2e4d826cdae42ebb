import { crc16, encodeRequest, findFrame, hasChecksum } from '../../../power/meters/modbus/frame.js';
import { Pending, type Outcome, type Tolerance } from '../../../power/meters/modbus/pending.js';
import type { Frame } from '../../../power/meters/meter.js';
import { seededRandom } from '../../../power/simulator/random.js';
import { assert, suite } from '../../tools/suite.js';
import { pzemAnswer, sealed } from '../helpers/modbus-slave.js';

const test = suite('modbus frames');
const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const shown = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const request = { slave: 1, functionCode: 4, start: 0, count: 10 } as const;

test('requests are the golden bytes', () => {
  for (const [slave, functionCode, count, bytes] of [
    [1, 4, 10, '01 04 00 00 00 0a 70 0d'],
    [0xf8, 4, 10, 'f8 04 00 00 00 0a 64 64'],
    [1, 4, 8, '01 04 00 00 00 08 f1 cc'],
    [1, 3, 20, '01 03 00 00 00 14 45 c5'],
  ] as const)
    assert.equal(encodeRequest({ slave, functionCode, start: 0, count }), hex(bytes));
});

test('the checksum is the published one and finds every flip of one bit and of two', () => {
  assert.is(crc16(new TextEncoder().encode('123456789')), 0x4b37);
  const frame = pzemAnswer(10.3);
  assert.ok(hasChecksum(frame));
  const bits = frame.length * 8;
  const flipped = (...places: number[]): Uint8Array => {
    const copy = Uint8Array.from(frame);
    for (const bit of places) copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return copy;
  };
  for (let a = 0; a < bits; a++)
    for (let b = a; b < bits; b++)
      assert.not.ok(hasChecksum(a === b ? flipped(a) : flipped(a, b)), `bits ${a} and ${b}`);
});

interface Told {
  outcome: Outcome | undefined;
  frames: string[];
}

/** Everything a request gets, piece by piece, and its end if nothing came of it. */
function hear(pieces: readonly Uint8Array[], owed: number[] = [], crc: Tolerance = 'strict'): Told {
  const frames: string[] = [];
  const told = ({ bytes, fault }: Omit<Frame, 'direction'>): void =>
    void frames.push(`${fault ?? 'good'} ${shown(bytes)}`);
  const pending = new Pending(request, new Set(owed), told);
  let outcome: Outcome | undefined;
  for (const piece of pieces) outcome ??= pending.add(piece, 1n);
  outcome ??= pending.end(crc);
  return { outcome, frames };
}

const answer = pzemAnswer(10.3);
const join = (...parts: Uint8Array[]): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]));

test('an answer is found whole, byte by byte, behind noise, an echo, a torn one and slipped bytes', () => {
  const wanted = answer.subarray(3, -2);
  const echo = encodeRequest(request);
  const noise = hex('00 ff 01 04 01');
  const torn = answer.subarray(0, 9);
  for (const [name, pieces, faults] of [
    ['whole', [answer], []],
    ['byte by byte', [...answer].map((byte) => Uint8Array.of(byte)), []],
    ['noise', [join(noise, answer)], [`noise ${shown(noise)}`]],
    ['echo', [echo, answer], [`unexpected ${shown(echo)}`]],
    ['torn, then whole', [torn, answer], [`torn ${shown(torn)}`]],
    ['slipped', [join(Uint8Array.of(0), answer)], ['noise 00']],
  ] as const) {
    const { outcome, frames } = hear(pieces);
    assert.is(outcome?.kind, 'answer', name);
    if (outcome?.kind === 'answer')
      assert.equal(Uint8Array.from(outcome.payload), Uint8Array.from(wanted), name);
    assert.equal(frames, [...faults, `good ${shown(answer)}`], name);
  }
});

test('what is not the answer is told by what it is', () => {
  const exception = hex('01 84 02 c2 c1');
  assert.equal(hear([exception]), {
    outcome: { kind: 'exception', code: 2 },
    frames: [`exception ${shown(exception)}`],
  });

  const other = pzemAnswer(10.3, 10, 2);
  assert.equal(hear([other]), { outcome: undefined, frames: [`unexpected ${shown(other)}`] });

  const late = pzemAnswer(99.9, 9);
  const { outcome, frames } = hear([late, answer], [9]);
  assert.is(outcome?.kind, 'answer');
  assert.equal(frames, [`late ${shown(late)}`, `good ${shown(answer)}`]);

  const half = answer.subarray(0, 12);
  assert.equal(hear([half]), { outcome: { kind: 'bad' }, frames: [`torn ${shown(half)}`] });

  const wrong = Uint8Array.from(answer);
  wrong[10] = (wrong[10] ?? 0) ^ 4;
  assert.equal(hear([wrong]), { outcome: { kind: 'bad' }, frames: [`checksum ${shown(wrong)}`] });
  const taken = hear([wrong], [], 'warn');
  assert.is(taken.outcome?.kind === 'answer' && taken.outcome.checksum, false);
  assert.equal(taken.frames, [`checksum ${shown(wrong)}`]);
});

test('random bytes, cuts and flips never give an answer that was not sent, and every byte is told once', () => {
  const random = seededRandom(20_261_201);
  const below = (n: number): number => Math.floor(random() * n);
  for (let round = 0; round < 5_000; round++) {
    const bytes: number[] = [];
    const sent = new Set<string>();
    for (let part = below(4); part >= 0; part--) {
      const frame = [...pzemAnswer(below(20_000) / 10, round % 3 === 0 ? 9 : 10)];
      if (below(2) === 0) {
        if (below(2) === 0) frame.splice(below(frame.length), 1 + below(5));
        else frame[below(frame.length)] = below(256);
      }
      if (frame[2] === 20) sent.add(frame.slice(3, 23).join());
      bytes.push(...Array.from({ length: below(6) }, () => below(256)), ...frame);
    }
    const pieces: Uint8Array[] = [];
    for (let rest = Uint8Array.from(bytes); rest.length > 0;) {
      const cut = 1 + below(rest.length);
      pieces.push(rest.subarray(0, cut));
      rest = rest.slice(cut);
    }
    const { outcome, frames } = hear(pieces);
    const told = frames.map((line) => line.split(' ')[1]).join('');
    assert.ok(Buffer.from(bytes).toString('hex').startsWith(told), `round ${round}`);
    if (outcome?.kind === 'answer') assert.ok(sent.has([...outcome.payload].join()), `round ${round}`);
    else if (outcome?.kind !== 'exception') assert.is(told.length, 2 * bytes.length, `round ${round}`);
  }
});

test('a frame of any length is found, none of an odd or absurd one', () => {
  for (const count of [1, 9, 125]) {
    const frame = sealed([7, 3, 2 * count, ...new Array<number>(2 * count).fill(0)]);
    assert.is(findFrame(frame, 3)?.count, count);
    assert.is(findFrame(frame, 4), undefined);
  }
  for (const size of [0, 3, 251, 252]) {
    const frame = sealed([7, 3, size, ...new Array<number>(size).fill(1)]);
    assert.is(findFrame(frame, 3), undefined);
  }
});

test.run();
