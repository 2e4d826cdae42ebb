/** The failure cases of one run's figures; numbers are those of the method's list. Every one ends in null and a reason, or in a warning. */
import type { Sample } from '../../../power/meters/meter.js';
import type { RunInput, WindowFigures } from '../../../power/window/figures.js';
import { voidedBy } from '../../../power/window/run-figures.js';
import { seededRandom } from '../../../power/simulator/random.js';
import { assert, suite } from '../../tools/suite.js';
import { at, every, figuresOf, reading, reasonsOf, tokensAt, traitsOf } from '../helpers/windows.js';

const test = suite('failure cases of a run');

/** One reading a second of a live meter: V, I and P move in their last digits. */
function live(change: (t: number, sample: Sample) => Sample | null = (_, sample) => sample): Sample[] {
  return every(1, -5, 66).flatMap((t) => {
    const tenth = (t % 3) / 10;
    const sample = reading(t, 10 + tenth, { volts: 230 + tenth, amps: 0.087 + tenth / 100 });
    return change(t, sample) ?? [];
  });
}

/** Nothing that would be energy has a value. */
function isVoid(figures: WindowFigures): void {
  const { joules, net_joules, mean_watts, paper_trimmed_j_per_token, j_per_token, net_j_per_token } = figures;
  assert.is(figures.valid, false);
  assert.equal(
    { joules, net_joules, mean_watts, paper_trimmed_j_per_token, j_per_token, net_j_per_token },
    {
      joules: null,
      net_joules: null,
      mean_watts: null,
      paper_trimmed_j_per_token: null,
      j_per_token: null,
      net_j_per_token: null,
    },
  );
}

function breaks(
  rules: readonly string[],
  samples: Iterable<Sample>,
  change: Partial<RunInput> = {},
): WindowFigures {
  const figures = figuresOf(samples, change);
  isVoid(figures);
  assert.equal(reasonsOf(figures), rules);
  return figures;
}

const textOf = (figures: WindowFigures, reason: string): string =>
  figures.reasons.find((r) => r.reason === reason)?.text ?? '';

const warns = (figures: WindowFigures, text: RegExp): boolean => figures.warnings.some((w) => text.test(w));

test('a live meter breaks no rule and warns of nothing', () => {
  const figures = figuresOf(live());
  assert.equal([figures.reasons, figures.warnings], [[], []]);
  assert.is(figures.valid, true);
});

test('case 1: lost in mid-run, with the time; lost and back between two samples too', () => {
  const lost = reading(20.5, null, { flags: ['lost'] });
  const gone = [...live((t, s) => (t <= 18 || t >= 30 ? s : null)), lost].sort((a, b) =>
    Number(a.tNs - b.tNs),
  );
  assert.match(textOf(breaks(['meter-lost', 'gap', 'coverage'], gone), 'meter-lost'), /18\.5 s into/);
  const blink = [...live(), lost].sort((a, b) => Number(a.tNs - b.tNs));
  breaks(['meter-lost'], blink);
  const before = [...live(), reading(0.5, null, { flags: ['lost'] })].sort((a, b) => Number(a.tNs - b.tNs));
  assert.is(figuresOf(before).valid, true, 'lost and back before the trimmed window');
  const forEver = [...live((t, s) => (t <= 40 ? s : null)), reading(42.6, null, { flags: ['lost'] })];
  breaks(['meter-lost', 'gap', 'coverage'], forEver);
});

test('case 2: two samples missing are a gap of 3 periods, one missing is bridged; energy is null, never a part', () => {
  const one = figuresOf(live((t, s) => (t === 20 ? null : s)));
  assert.equal([one.valid, one.coverage, one.largest_gap_s], [true, 1, 2]);
  const two = breaks(
    ['gap', 'coverage'],
    live((t, s) => (t === 20 || t === 21 ? null : s)),
  );
  assert.ok(Math.abs((two.coverage ?? 0) - 53 / 56) < 1e-9);
  assert.is(two.largest_gap_s, 3);
  // In a long window 3 s are less than 2 %: the gap alone decides.
  const long = every(1, -5, 606).filter((t) => t !== 20 && t !== 21);
  breaks(
    ['gap'],
    long.map((t) => reading(t, 10)),
    { toNs: at(600) },
  );
});

test('case 5: a run that was suspended, aborted or throttled is void by what the run saw', () => {
  const figures = figuresOf(live());
  assert.is(voidedBy(figures, []), figures);
  const suspended = voidedBy(figures, [{ reason: 'suspended', text: 'the machine slept 12 s' }]);
  isVoid(suspended);
  assert.equal(reasonsOf(suspended), ['suspended']);
});

test('case 6: no token in the window is null and a reason, not infinity', () => {
  breaks(['no-tokens'], live(), { tokenNs: [] });
  breaks(['no-tokens'], live(), { tokenNs: [at(0), at(1), at(59)] });
});

test('case 7: one token has no rate', () => {
  const figures = breaks(['too-few-tokens'], live(), { tokenNs: [at(0), at(30), at(60)] });
  assert.is(figures.tokens_per_second, null);
  assert.match(textOf(figures, 'too-few-tokens'), /1 of 3 tokens.*at least 15\.0 s/);
});

test('case 8: a window no longer than its trims says what it is and what would do', () => {
  const short = { toNs: at(3.1), tokenNs: tokensAt(5, 0, 3.1) };
  const figures = breaks(['window-too-short'], live(), short);
  assert.match(
    textOf(figures, 'window-too-short'),
    /^3\.1 s ≤ 2 × 2\.0 s.*at least 15\.0 s, about 76 tokens at 5\.00 tokens\/s$/,
  );
  assert.equal([figures.trimmed_s, figures.coverage], [null, null]);
  breaks(['window-too-short'], live(), { toNs: at(4), tokenNs: tokensAt(5, 0, 4) });
  breaks(['window-too-short', 'no-tokens'], live(), { toNs: at(0), tokenNs: [] });
});

test('case 9: fewer than ten update periods are too few, and the needed length is named', () => {
  const figures = breaks(['too-few-samples'], live(), { toNs: at(13), tokenNs: tokensAt(5, 0, 13) });
  assert.match(
    textOf(figures, 'too-few-samples'),
    /^9 update periods in 9\.0 s, 10 are needed.*15\.0 s, about 76 tokens/,
  );
  assert.is(
    figuresOf(live(), { toNs: at(15), tokenNs: tokensAt(5, 0, 15) }).valid,
    true,
    'what it says does',
  );
  // Forty polls of eight periods are eight values.
  const polls = every(0.25, -5, 66).map((t) => reading(t, 10 + Math.floor(t) / 100));
  breaks(['too-few-samples'], polls, { toNs: at(12), tokenNs: tokensAt(5, 0, 12) });
});

test('case 10: NaN, infinity and no value are missing samples; saturation voids; negative power is a wiring fault', () => {
  for (const watts of [null, NaN, Infinity, -Infinity, 1e30]) {
    const figures = figuresOf(live((t, s) => (t === 20 ? { ...s, watts } : s)));
    assert.equal([figures.valid, figures.unusable_samples, figures.samples], [true, 1, 55], String(watts));
    assert.ok(Math.abs((figures.mean_watts?.value ?? 0) - 10.1) < 0.01);
  }
  breaks(
    ['saturated'],
    live((t, s) => (t === 20 ? { ...s, flags: ['saturated'] } : s)),
  );
  breaks(
    ['saturated'],
    live((t, s) => (t === 20 ? { ...s, watts: 2301 } : s)),
  );
  // Its mean is of the second before it: half of that second is in the window.
  const edge = { toNs: at(60.5), tokenNs: tokensAt(5, 0, 60.5) };
  breaks(
    ['saturated'],
    live((t, s) => (t === 59 ? { ...s, flags: ['saturated'] } : s)),
    edge,
  );
  assert.is(
    figuresOf(live((t, s) => (t === 1 || t === 60 ? { ...s, flags: ['saturated'] } : s))).valid,
    true,
  );

  const once = figuresOf(live((t, s) => (t === 20 ? { ...s, watts: -10 } : s)));
  assert.is(once.valid, true);
  assert.ok(warns(once, /1 reading dropped, negative power.*swapped/), once.warnings.join());
  const swapped = breaks(
    ['negative-power', 'gap', 'coverage', 'too-few-samples'],
    live((_, s) => ({ ...s, watts: -10 })),
  );
  assert.match(textOf(swapped, 'negative-power'), /swapped/);
  const charging = figuresOf(
    every(1, -5, 66).map((t) => reading(t, -10)),
    { traits: traitsOf({ current: 'direct' }) },
  );
  assert.is(charging.mean_watts?.value, -10, 'direct current has a direction');
});

test('case 11: V, I and P that do not move for ten periods are stuck; a watts-only meter is exempt and that is said', () => {
  const frozen = (from: number, to: number) =>
    live((t, s) => (t >= from && t < to ? { ...s, watts: 10.3, volts: 230.4, amps: 0.087 } : s));
  assert.is(figuresOf(frozen(20, 29)).valid, true);
  assert.match(textOf(breaks(['stuck'], frozen(20, 30)), 'stuck'), /did not move for 10 update periods/);
  assert.is(figuresOf(frozen(-5, 8)).valid, true, 'six of the frozen seconds are in the window');
  const polled = frozen(20, 30).flatMap((s) => [
    s,
    { ...s, tNs: s.tNs + 300_000_000n },
    { ...s, tNs: s.tNs + 600_000_000n },
  ]);
  breaks(['stuck'], polled);
  const nine = frozen(20, 29).flatMap((s) => [s, { ...s, tNs: s.tNs + 500_000_000n }]);
  assert.is(figuresOf(nine).valid, true, 'polls are no periods');
  const wattsOnly = figuresOf(every(1, -5, 66).map((t) => reading(t, 10.3)));
  assert.is(wattsOnly.valid, true);
  assert.ok(warns(wattsOnly, /whether it is stuck cannot be told/));
});

test('case 12: 0.1 % wrong checksums are tolerated, 5 % warned of, 50 % void the run', () => {
  const random = seededRandom(4);
  const many = every(0.1, -5, 66).map((t) => reading(t, 10 + random(), { volts: 230 + random(), amps: 0.1 }));
  const flagged = (everyNth: number) =>
    many.map((s, i) => (i % everyNth === 0 ? { ...s, flags: ['checksum'] as const } : s));
  const tenHertz = { updatePeriodNs: 1e8, traits: traitsOf({ updatePeriodNs: 1e8 }) };
  assert.equal(figuresOf(flagged(1000), tenHertz).warnings, []);
  const five = figuresOf(flagged(20), tenHertz);
  assert.is(five.valid, true);
  assert.ok(warns(five, /^5\.0 % of the frames have a wrong checksum/), five.warnings.join());
  assert.match(
    textOf(breaks(['checksum-errors'], flagged(2), tenHertz), 'checksum-errors'),
    /^50\.0 % of the frames/,
  );
  const told = figuresOf(flagged(20), { ...tenHertz, checksumErrors: 30 });
  assert.equal(told.warnings, five.warnings, 'a frame and the sample made of it are one');
  const garbled = live((t, s) => (t === 20 ? { ...s, flags: ['saturated', 'checksum'] } : s));
  assert.is(figuresOf(garbled).valid, true, 'a garbled reading is no proof of saturation');
  // Dropped frames leave no sample: their count comes from the raw record.
  assert.ok(warns(figuresOf(live(), { checksumErrors: 3 }), /4\.8 % of the frames/));
  breaks(['checksum-errors'], live(), { checksumErrors: 61 });
});

test('case 14: another rate than the profile says, and watts that are not volts times amps, are told', () => {
  const slow = figuresOf(live(), { traits: traitsOf({ updatePeriodNs: 5e8 }) });
  assert.is(slow.valid, true);
  assert.ok(warns(slow, /a value every 1\.00 s, its profile says 0\.500 s/));
  assert.not.ok(warns(figuresOf(live(), { traits: traitsOf({ updatePeriodNs: 0.85e9 }) }), /profile says/));
  const tenfold = figuresOf(live((_, s) => ({ ...s, volts: (s.volts ?? 0) / 10 })));
  assert.ok(warns(tenfold, /watts are 4\.9\d of volts times amps/), tenfold.warnings.join());
  const milli = figuresOf(live((_, s) => ({ ...s, watts: (s.watts ?? 0) / 1000 })));
  assert.ok(warns(milli, /check profile, units and scale/), milli.warnings.join());
});

test("case 25: the meter's counter that falls gives no joules, never negative ones; a good one is a cross-check", () => {
  const counting = live((t, s) => ({ ...s, joules: 10.1 * (t + 100) }));
  const good = figuresOf(counting);
  assert.ok(Math.abs((good.meter_joules ?? 0) - 10.1 * 56) < 1e-6);
  assert.equal(good.warnings, []);
  const wrapped = figuresOf(
    counting.map((s) => (s.tNs >= at(30) ? { ...s, joules: (s.joules ?? 0) - 1300 } : s)),
  );
  assert.equal([wrapped.valid, wrapped.meter_joules], [true, null]);
  assert.ok(warns(wrapped, /counter fell/));
  const flagged = figuresOf(
    counting.map((s) => (s.tNs === at(30) ? { ...s, flags: ['counter-reset'] as const } : s)),
  );
  assert.is(flagged.meter_joules, null);
  const tenth = figuresOf(counting.map((s) => ({ ...s, joules: (s.joules ?? 0) / 10 })));
  assert.ok(
    warns(tenth, /own counter gives 56\.56 J, the integrated samples 565\.\d J/),
    tenth.warnings.join(),
  );
  const coarse = figuresOf(counting.map((s) => ({ ...s, joules: 3600 * Math.floor((s.joules ?? 0) / 900) })));
  assert.not.ok(warns(coarse, /own counter/), 'a step of 1 Wh cannot contradict 565 J');
});

test('samples out of order are refused, and so is a window that ends before it begins', () => {
  assert.throws(() => figuresOf([reading(1, 10), reading(0.5, 10)]), /order of time/);
  assert.throws(() => figuresOf(live(), { fromNs: at(61) }), /end after it begins/);
  assert.throws(() => figuresOf(live(), { tokenNs: [at(3), at(2)] }), /ascending times/);
  assert.throws(
    () => figuresOf(live(), { updatePeriodNs: NaN, traits: traitsOf({ updatePeriodNs: 0 }) }),
    /update period/,
  );
});

test('the trim grows with update period and latency, and says so', () => {
  const figures = figuresOf(live(), { latencyNs: 5e8 });
  assert.is(figures.trim_s, 2.5);
  assert.ok(
    warns(
      figures,
      /^2\.50 s are trimmed each end, not 2\.00 s: two update periods of 1\.00 s and 0\.50 s latency/,
    ),
  );
});

test.run();
