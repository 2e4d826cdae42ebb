import type { Sample } from '../../../power/meters/meter.js';
import { measureUpdatePeriod, type UpdatePeriod } from '../../../power/trace/update-period.js';
import { sample } from '../helpers/traces.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('update period');

/** Park and Miller: the same numbers everywhere. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

interface Course {
  /** Seconds between updates of the meter, and between polls. */
  update: () => number;
  poll: () => number;
  /** What an update shows. */
  value: () => number;
  seconds: number;
}

/** A meter whose value is new at each update and is read at each poll. */
function* polled({ update, poll, value, seconds }: Course): Generator<Sample> {
  let next = 0;
  let shown = 0;
  for (let t = 0.5; t < seconds; t += poll()) {
    while (next <= t) {
      shown = value();
      next += update();
    }
    yield sample(BigInt(Math.round(t * 1e9)), shown);
  }
}

const seed = 20_261;
const rng = random(seed);
const fine = (): number => 10 + rng();
const measure = (course: Course, nominal = 1): Promise<UpdatePeriod> =>
  measureUpdatePeriod(polled(course), { updatePeriodNs: nominal * 1e9 });

function near(found: UpdatePeriod, seconds: number, within: number): void {
  const error = Math.abs(found.periodNs / 1e9 / seconds - 1);
  assert.ok(error < within, `expected ${String(seconds)} s, found ${String(found.periodNs / 1e9)} s`);
}

test('polled at any speed, the period is that of the values', async () => {
  for (const poll of [0.02, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 1]) {
    const found = await measure({ update: () => 1, poll: () => poll, value: fine, seconds: 200 });
    near(found, 1, 0.02);
    assert.is(found.basis, 'new-values');
    assert.equal(found.warnings, [], String(poll));
    assert.ok(Math.abs((found.repeated ?? 0) - (1 - poll)) < 0.05, String(found.repeated));
  }
});

test('polls and updates that are not regular', async () => {
  const found = await measure({
    update: () => 0.8 + 0.4 * rng(),
    poll: () => 0.2 + 0.2 * rng(),
    value: fine,
    seconds: 400,
  });
  near(found, 1, 0.03);
  assert.ok(found.distribution && found.distribution.p5 < 0.9 && found.distribution.p95 > 1.1);
});

test('whole watts: equal values in a row do not make the period longer', async () => {
  // The value stays with one update in two or three.
  for (const share of [0.4, 0.6]) {
    let watts = 10;
    const value = (): number => (watts = rng() < share ? watts : watts === 10 ? 11 : 10);
    const found = await measure({ update: () => 1, poll: () => 0.25, value, seconds: 600 });
    near(found, 1, 0.03);
    near(await measure({ update: () => 1, poll: () => 1, value, seconds: 600 }), 1, 0.03);
  }
});

test('gaps are not periods', async () => {
  const rows = [...polled({ update: () => 1, poll: () => 0.25, value: fine, seconds: 300 })].filter(
    ({ tNs }) => tNs % 60_000_000_000n > 15_000_000_000n,
  );
  near(await measureUpdatePeriod(rows, { updatePeriodNs: 1e9 }), 1, 0.02);
  const lost = [sample(1n, 1), sample(2n, 2), sample(3n, null, { flags: ['lost'] }), sample(10n ** 10n, 3)];
  assert.is((await measureUpdatePeriod(lost, { updatePeriodNs: 1e9 })).distribution, null);
});

test('slower or faster than the profile by more than a fifth: told', async () => {
  const slow = await measure({ update: () => 2, poll: () => 0.25, value: fine, seconds: 200 });
  near(slow, 2, 0.02);
  assert.match(
    slow.warnings.join(),
    /^A new value comes every 2\.\d+ s, slower than the profile's 1\.00 s\.$/,
  );
  const fast = await measure({ update: () => 0.1, poll: () => 0.05, value: fine, seconds: 60 });
  near(fast, 0.1, 0.02);
  assert.match(fast.warnings.join(), /every 0?\.?10\S* m?s, faster than/);
  const read = await measure({ update: () => 0.1, poll: () => 3, value: fine, seconds: 300 });
  near(read, 3, 0.02);
  assert.match(read.warnings.join(), /slower .* It is read no faster than that\./);
  for (const update of [0.85, 1.15])
    assert.equal(
      (await measure({ update: () => update, poll: () => 0.05, value: fine, seconds: 200 })).warnings,
      [],
    );
});

test('a meter that pushes has as many values as samples, equal or not', async () => {
  const rows = Array.from({ length: 100 }, (_, i) => sample(BigInt(i) * 1_000_000_000n, i < 50 ? 10 : 11));
  const found = await measureUpdatePeriod(rows, { updatePeriodNs: 1e9, pushes: true });
  near(found, 1, 1e-9);
  assert.is(found.basis, 'samples');
  const same = await measureUpdatePeriod(rows, { updatePeriodNs: 1e9 });
  assert.is(same.basis, 'profile');
  assert.match(same.warnings.join(), /hardly changes/);
});

test('too little: the profile stands, or the samples where they are slower', async () => {
  const few = await measureUpdatePeriod([], { updatePeriodNs: 1e9 });
  assert.equal(
    { ...few, warnings: few.warnings.length },
    {
      periodNs: 1e9,
      basis: 'profile',
      intervals: 0,
      distribution: null,
      sampleInterval_s: null,
      repeated: null,
      warnings: 1,
    },
  );
  const slow = Array.from({ length: 20 }, (_, i) => sample(BigInt(i) * 5_000_000_000n, 10));
  const found = await measureUpdatePeriod(slow, { updatePeriodNs: 1e9 });
  near(found, 5, 1e-9);
  assert.match(found.warnings.join(), /Samples come every 5\.00 s, the profile says 1\.00 s/);
});

test.run();
