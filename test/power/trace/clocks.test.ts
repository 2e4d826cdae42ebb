import { compareClocks, readClocks } from '../../../power/trace/clocks.js';
import type { Clocks } from '../../../power/trace/header.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('clocks');

const from: Clocks = {
  monotonicNs: 50_000_000_000n,
  boottimeNs: 62_340_000_000n,
  wall: '2026-03-29T00:59:00.000Z',
};
const second = 1_000_000_000n;

/** 60 s later by CLOCK_MONOTONIC; more by the others. */
function later(bootNs: bigint, wallMs: number): Clocks {
  return {
    monotonicNs: from.monotonicNs + 60n * second,
    boottimeNs: from.boottimeNs + 60n * second + bootNs,
    wall: new Date(Date.parse(from.wall) + 60_000 + wallMs).toISOString(),
  };
}

test('this machine: the clocks go together, and the monotonic one is that of hrtime', async () => {
  const before = process.hrtime.bigint();
  const first = readClocks();
  const after = process.hrtime.bigint();
  assert.ok(first.monotonicNs >= before && first.monotonicNs <= after);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const change = compareClocks(first, readClocks());
  assert.ok(change.elapsedNs >= 299_000_000n);
  assert.not.ok(change.suspended);
  assert.equal(change.notes, []);
});

test('nothing happened', () => {
  assert.equal(compareClocks(from, later(0n, 0)), {
    elapsedNs: 60n * second,
    suspendedNs: 0n,
    suspended: false,
    wallStepNs: 0n,
    notes: [],
  });
  assert.not.ok(compareClocks(from, later(20_000_000n, 3)).suspended, 'steps of /proc/uptime');
});

test('suspend: the time that CLOCK_MONOTONIC did not see', () => {
  const change = compareClocks(from, later(30n * second, 30_000));
  assert.ok(change.suspended);
  assert.is(change.suspendedNs, 30n * second);
  assert.is(change.wallStepNs, 0n, 'the wall clock went on, as it should');
  assert.match(change.notes.join(), /^The machine was suspended for 30\.0 s/);
  assert.ok(compareClocks(from, later(second / 2n, 500)).suspended, 'half a second counts');
});

test('the wall clock jumps by an hour, either way: a note and nothing else', () => {
  for (const [ms, text] of [
    [3_600_000, /set forward by 3600\.0 s; no figure depends on it/],
    [-3_600_000, /set back by 3600\.0 s/],
  ] as const) {
    const change = compareClocks(from, later(0n, ms));
    assert.is(change.elapsedNs, 60n * second);
    assert.not.ok(change.suspended);
    assert.is(change.wallStepNs, BigInt(ms) * 1_000_000n);
    assert.match(change.notes.join(), text);
  }
  const both = compareClocks(from, later(30n * second, 30_000 - 3_600_000));
  assert.ok(both.suspended);
  assert.is(both.wallStepNs, -3600n * second);
  assert.is(both.notes.length, 2);
});

test.run();
