import type { MeterTraits, Sample } from '../../../power/meters/meter.js';
import { align } from '../../../power/calibrate/align.js';
import { halfLengths, Wave, type Edge } from '../../../power/calibrate/wave.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('calibrate: the latency from a known wave');

interface Machine {
  readonly periodS: number;
  readonly latencyS: number;
  readonly rule: MeterTraits['rule'];
  readonly stepWatts: number;
  readonly noiseWatts?: number;
  readonly busyWatts?: number;
}

const cycles = 8;

/** What a meter of known latency says of a wave: means of the past period, or instants, late. */
function recorded({ periodS, latencyS, rule, stepWatts, noiseWatts = 0, busyWatts = 10 }: Machine) {
  const traits: MeterTraits = { resolutionWatts: stepWatts, accuracy: null, updatePeriodNs: periodS * 1e9, rule, maxWatts: null, current: 'direct' }; // prettier-ignore
  const times = [0];
  for (const length of halfLengths(6 * periodS, cycles, periodS)) times.push((times.at(-1) ?? 0) + length);
  const wave = new Wave(times);
  const ns = (s: number) => BigInt(Math.round((s + 100) * 1e9));
  const edges: Edge[] = times.map((t, i) => ({ tNs: ns(t), busy: i % 2 === 0 }));
  const samples: Sample[] = [];
  for (let i = -10; i * periodS < (times.at(-1) ?? 0) + 5 * periodS; i++) {
    const to = (i + 0.37) * periodS;
    const share = wave.busyShare(rule === 'trapezoid' ? to : to - periodS, to);
    const watts = 3 + (busyWatts - 3) * share + noiseWatts * Math.sin(i * 12.9898);
    const shown = Math.round(watts / stepWatts) * stepWatts;
    samples.push({ tNs: ns(to + latencyS), watts: shown, volts: null, amps: null, joules: null, flags: [] });
  }
  return align(samples, edges, traits, periodS * 1e9);
}

for (const rule of ['backward-rectangle', 'trapezoid'] as const)
  for (const periodS of [0.1, 1])
    for (const latencyS of [0, 0.35, 1.2].filter((s) => s < 2.5 * periodS))
      test(`${rule}, every ${periodS} s, ${latencyS} s late`, () => {
        const { latency_s: found, sd_s: sd, step_watts: step, refused, correlation } = recorded({ periodS, latencyS, rule, stepWatts: 0.01 }); // prettier-ignore
        assert.is(refused, null);
        // A mean tells where in its period an edge was; an instant only between which two samples.
        const allowed = rule === 'trapezoid' ? 0.6 * periodS : 0.03 * periodS;
        assert.ok(Math.abs((found ?? NaN) - latencyS) < allowed, `found ${found}`);
        assert.ok((sd ?? NaN) < periodS, `sd ${sd}`);
        assert.ok(Math.abs(step - 7) < 0.011, `step ${step}`);
        assert.ok(correlation > 0.97, `correlation ${correlation}`);
      });

test('noise and a coarse step widen the spread and leave the latency', () => {
  const { latency_s: found, sd_s: sd, u_s: u, refused } = recorded({ periodS: 1, latencyS: 0.8, rule: 'backward-rectangle', stepWatts: 1, noiseWatts: 0.6 }); // prettier-ignore
  assert.is(refused, null);
  assert.ok(Math.abs((found ?? NaN) - 0.8) < 0.25, `found ${found}`);
  assert.ok((sd ?? 0) > 0.005 && (u ?? 0) < (sd ?? 0), `sd ${sd}, u ${u}`);
});

test('a step below the resolution or the noise is refused with the figures', () => {
  const coarse = recorded({ periodS: 0.1, latencyS: 0, rule: 'backward-rectangle', stepWatts: 1, busyWatts: 4 }); // prettier-ignore
  assert.is(coarse.latency_s, null);
  assert.match(coarse.refused ?? '', /expected at least 2\.00 W/);
  const noisy = recorded({ periodS: 0.1, latencyS: 0, rule: 'backward-rectangle', stepWatts: 0.01, busyWatts: 3.5, noiseWatts: 1 }); // prettier-ignore
  assert.is(noisy.latency_s, null);
  assert.match(noisy.refused ?? '', /3 times its noise/);
});

test('nothing but silence is refused, with finite figures', () => {
  const traits: MeterTraits = { resolutionWatts: 0.1, accuracy: null, updatePeriodNs: 1e9, rule: 'trapezoid', maxWatts: null, current: 'direct' }; // prettier-ignore
  const edges = [0n, 1_000_000_000n, 2_000_000_000n].map((tNs, i) => ({ tNs, busy: i % 2 === 0 }));
  const found = align([], edges, traits, 1e9);
  assert.match(found.refused ?? '', /0 usable samples/);
  assert.ok(Object.values(found).every((value) => typeof value !== 'number' || Number.isFinite(value)));
});

test.run();
