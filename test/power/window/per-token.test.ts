/** The two figures per token, net of idle, and the parts of their uncertainty, each against its formula. */
import type { IdlePower, RunInput, Value, WindowFigures } from '../../../power/window/figures.js';
import { idlePower } from '../../../power/window/idle.js';
import { openPower } from '../../../power/window/open-power.js';
import { effectiveCount, PeriodStatistics } from '../../../power/window/periods.js';
import { assert, suite } from '../../tools/suite.js';
import { at, every, figuresOf, reading, runInput, tokensAt, traitsOf } from '../helpers/windows.js';

const test = suite('joules per token');

function is(found: number | undefined, expected: number, what: string): void {
  assert.ok(
    Math.abs((found ?? NaN) - expected) <= 1e-9 * Math.abs(expected),
    `${what}: expected ${expected}, found ${found}`,
  );
}

function valueOf(value: Value | null): Value {
  assert.ok(value !== null);
  return value;
}

/** 10 W and 10.4 W in turn: mean 10.2 W over 56 samples, no correlation that adds. */
const readings = every(1, -5, 66).map((t) => reading(t, t % 2 === 0 ? 10 : 10.4));
const figures = (change: Partial<RunInput> = {}): WindowFigures => figuresOf(readings, change);
const sd = 0.2 * Math.sqrt(56 / 55);

test("the paper's figure divides by all tokens, the other by those inside: 80 tokens, 2 s off each end", () => {
  const {
    paper_trimmed_j_per_token: paper,
    j_per_token: own,
    ...rest
  } = figures({ tokenNs: tokensAt(79 / 60, 0, 60) });
  assert.equal([rest.tokens, rest.tokens_in_window], [80, 74]);
  is(rest.joules?.value, 571.2, 'joules');
  is(paper?.value, 571.2 / 80, 'paper');
  is(own?.value, 571.2 / 74, 'own');
  is(rest.tokens_per_second ?? NaN, 74 / 56, 'tok/s');
});

test('a token at the start of the trimmed window is out, one at its end is in', () => {
  assert.is(figures({ tokenNs: [2, 2.1, 30, 58, 58.1].map(at) }).tokens_in_window, 3);
});

test('the parts of the uncertainty', () => {
  const { mean_watts: mean, j_per_token: own, paper_trimmed_j_per_token: paper } = figures();
  const u = valueOf(mean).u;
  is(u.accuracy ?? NaN, (0.005 * 10.2) / Math.sqrt(3), 'accuracy');
  is(u.resolution, 0.1 / Math.sqrt(12), 'resolution');
  is(u.repeatability, sd / Math.sqrt(56), 'repeatability');
  assert.is(u.tokenEdges, 0);
  is(u.total, Math.hypot(u.accuracy ?? NaN, u.resolution, u.repeatability), 'total');
  const perToken = valueOf(own);
  is(perToken.u.resolution / perToken.value, u.resolution / 10.2, 'relative resolution');
  is(perToken.u.tokenEdges / perToken.value, Math.sqrt(2 / 3) / 280, 'edges: 1/sqrt(3) token each');
  assert.is(valueOf(paper).u.tokenEdges, 0, 'all tokens are an exact count');
});

test('an unknown accuracy is null, not zero', () => {
  const unknown = figures({ traits: traitsOf({ accuracy: null }) });
  assert.is(valueOf(unknown.mean_watts).u.accuracy, null);
  assert.ok(unknown.warnings.some((text) => text.includes('accuracy class is unknown')));
});

test('n_eff: a published example, no more than n, no less than one', () => {
  assert.ok(Math.abs(effectiveCount(56, 0.5) - 56 / 3) < 1e-12);
  assert.is(effectiveCount(56, -0.5), 56);
  assert.is(effectiveCount(56, 1), 1);
});

test('autocorrelation in one pass is that of the definition', () => {
  const values = [3, 4, 4.5, 4.2, 3.9, 3.1, 2.5, 2.9, 3.3, 1e-3].map((x) => x + 1e6);
  const statistics = new PeriodStatistics(1);
  values.forEach((x, t) => statistics.add(t, x));
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const d = values.map((x) => x - mean);
  const squares = d.reduce((sum, x) => sum + x * x, 0);
  const { n, rho, sd: found } = statistics.end();
  assert.is(n, 10);
  assert.ok(Math.abs(rho - d.slice(1).reduce((sum, x, i) => sum + x * (d[i] ?? 0), 0) / squares) < 1e-9);
  assert.ok(Math.abs((found ?? 0) - Math.sqrt(squares / 9)) < 1e-9);
});

const idleOf = (watts: number, amplitude: number) => {
  const window = openPower(runInput([], { traits: traitsOf(), fromNs: at(0), toNs: at(60) }));
  for (const t of every(1, -5, 66)) window.push(reading(t, watts + (t % 2 === 0 ? amplitude : -amplitude)));
  return window.finish();
};

test('idle power from the windows before and after, flagged where they differ', () => {
  const steady = idlePower([idleOf(4, 0.05), idleOf(4.02, 0.05)]);
  assert.ok(steady !== null);
  is(steady.watts, 4.01, 'watts');
  is(steady.uResolutionWatts, 0.1 / Math.sqrt(12), 'resolution is no smaller for two');
  assert.is(steady.drifted, false);
  const drifted = idlePower([idleOf(4, 0.05), idleOf(4.5, 0.05)]);
  assert.is(drifted?.drifted, true);
  assert.ok((drifted?.uRepeatabilityWatts ?? 0) > 0.5 / Math.sqrt(12));
  assert.is(idlePower([]), null);
  assert.is(idlePower([idleOf(4, 0.05)])?.drifted, false);
});

const idle = (watts: number): IdlePower => ({
  watts,
  uWatts: 0.05,
  uResolutionWatts: 0.03,
  uRepeatabilityWatts: 0.04,
  drifted: false,
});

test('net of idle carries the uncertainty of idle; its accuracy is of the difference', () => {
  const net = figures({ idle: idle(4) });
  const { value, u } = valueOf(net.net_joules);
  is(value, 6.2 * 56, 'net');
  is(u.accuracy ?? NaN, ((0.005 * 6.2) / Math.sqrt(3)) * 56, 'accuracy');
  is(u.resolution, Math.hypot(0.1 / Math.sqrt(12), 0.03) * 56, 'resolution');
  is(u.repeatability, Math.hypot(sd / Math.sqrt(56), 0.04) * 56, 'repeatability');
  is(net.net_j_per_token?.value, (6.2 * 56) / 280, 'per token');
  assert.is(figures().net_joules, null, 'no idle, no net');
});

test('net of idle is negative where it is, and never clamped', () => {
  const net = figures({ idle: idle(10.5) });
  is(net.net_j_per_token?.value, (-0.3 * 56) / 280, 'per token');
  assert.ok((net.net_j_per_token?.u.total ?? -1) > 0);
});

test.run();
