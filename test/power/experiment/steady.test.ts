import type { MeterTraits, Sample } from '../../../power/meters/meter.js';
import { MeterFeed } from '../../../power/experiment/meter-feed.js';
import { previewOf, tokensOf } from '../../../power/experiment/preview.js';
import { parsePlan } from '../../../power/experiment/read-plan.js';
import { isSteady, slopeOf } from '../../../power/experiment/slope.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('steady');
const sample = (seconds: number, watts: number | null, ...flags: Sample['flags']): Sample => ({
  tNs: BigInt(Math.round(seconds * 1e9)),
  watts,
  volts: null,
  amps: null,
  joules: null,
  flags,
});
/** 10 Hz; noise of deviation 0.1 W that repeats. */
const readings = (seconds: number, watts: (s: number) => number) =>
  Array.from({ length: seconds * 10 }, (_, i) => ({ tNs: BigInt(i) * 100_000_000n, watts: watts(i / 10) }));

test('finds the slope of power and how well it is known', () => {
  const ramp = slopeOf(readings(30, (s) => 10 + s * 0.01));
  assert.ok(ramp !== null && Math.abs(ramp.wattsPerMinute - 0.6) < 1e-9, String(ramp?.wattsPerMinute));
  assert.ok(ramp.uWattsPerMinute < 1e-6);
  assert.not(isSteady(ramp, 5));
  assert.ok(isSteady(ramp, 7));
  assert.is(slopeOf(readings(30, () => 10).slice(0, 9)), null);
});

test('a short look at a noisy meter is not steady, a long one is', () => {
  const noisy = (s: number) => 10 + (Math.round(s * 10) % 2 === 0 ? 0.1 : -0.1);
  const [short, long] = [slopeOf(readings(3, noisy)), slopeOf(readings(60, noisy))];
  assert.ok(short !== null && long !== null);
  assert.not(isSteady(short, 0.5));
  assert.ok(isSteady(long, 0.5));
});

test('the feed passes everything on, in order, also what came before the trace', async () => {
  const feed = new MeterFeed();
  const passed: number[] = [];
  feed.sample(sample(1, 10));
  feed.pass({ sample: ({ tNs }) => passed.push(Number(tNs) / 1e9) });
  feed.sample(sample(2, 12));
  feed.sample(sample(3, 99, 'saturated'));
  feed.sample(sample(4, null, 'lost'));
  assert.equal(passed, [1, 2, 3, 4]);
  assert.equal(
    feed.between(0n, 10_000_000_000n).map(({ watts }) => watts),
    [10, 12],
  );
  assert.is(feed.lostBetween(2_000_000_000n, 4_000_000_000n), 4_000_000_000n);
  assert.is(feed.lostBetween(4_000_000_000n, 9_000_000_000n), null);
  assert.ok(feed.lost);
  assert.is(feed.watts, null);
  const never = new AbortController().signal;
  assert.not(await feed.back(20, never));
  const back = feed.back(5000, never);
  feed.sample(sample(5, 11, 'back'));
  assert.ok(await back);
  assert.is(feed.watts, 11);
});

const traits: MeterTraits = {
  resolutionWatts: 0.1,
  accuracy: 0.005,
  updatePeriodNs: 1e9,
  rule: 'backward-rectangle',
  maxWatts: null,
  current: 'alternating',
};
const least = { name: 'p', prompt: 'x', arms: [{ name: 'a' }, { name: 'b' }], idle_s: 60, cool_down_s: 10 };
const pace = (a: number, b: number) => ({
  a: { tokensPerSecond: a, prefillSeconds: 1 },
  b: { tokensPerSecond: b, prefillSeconds: 1 },
});

test('one count for all arms, from the fastest', () => {
  const plan = parsePlan({ ...least, min_seconds: 60 }, 'p.json');
  assert.is(tokensOf(plan, pace(5, 10)), Math.ceil(10 * 60 * 1.1) + 1);
  assert.is(tokensOf(parsePlan({ ...least, tokens: 80 }, 'p.json'), pace(5, 10)), 80);
});

test('says how long it takes, what it can show, and which count would do', () => {
  const slow = previewOf(parsePlan({ ...least, tokens: 301, blocks: 2 }, 'p.json'), traits, pace(5, 5));
  assert.is(slow.tooShort, null);
  // 8 runs of 61 s with 10 s between, two idles of 70 s, a warm-up of 30 to 600 s.
  assert.is(slow.seconds.least, 8 * 71 + 140 + 30);
  assert.is(slow.seconds.most, 8 * 71 + 140 + 600);
  const [, , percent] = slow.detectable.at;
  assert.is(percent?.sd, 0.01);
  assert.ok((percent?.difference ?? 0) > 0.1154, 'two blocks show no less than 11.5 deviations');
  assert.is(
    previewOf(parsePlan({ ...least, tokens: 301, blocks: 1 }, 'p.json'), traits, pace(5, 5)).detectable.at[0]
      ?.difference,
    null,
  );
  const fast = previewOf(parsePlan({ ...least, tokens: 80 }, 'p.json'), traits, pace(1000, 2000));
  const found =
    /window-too-short: 80 tokens of arm "b" last 0\.0395 s .* need 15\.0 s: set "tokens" to (\d+) or more/.exec(
      fast.tooShort ?? '',
    );
  assert.ok(found, fast.tooShort ?? 'long enough');
  const enough = parsePlan({ ...least, tokens: Number(found[1]) }, 'p.json');
  assert.is(previewOf(enough, traits, pace(1000, 2000)).tooShort, null);
});

test.run();
