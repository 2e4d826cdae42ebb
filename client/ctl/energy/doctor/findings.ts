import type { Assessment } from '../../../../power/doctor/assess.js';
import type { MeterCounts, MeterIdentity, MeterTraits } from '../../../../power/meters/meter.js';
import { plural } from '../../../../power/plural.js';
import { fail, ok, warn, type Check } from '../../doctor/check.js';

const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`;
const seconds = (s: number): string => `${s.toPrecision(3)} s`;

/** Who answered. */
export function checkIdentity(meter: MeterIdentity): Check {
  const name = [meter.maker, meter.model, meter.serial, meter.firmware]
    .filter((part) => part !== null)
    .join(' ');
  const profile = meter.profile === null ? meter.kind : `${meter.kind}, profile ${meter.profile}`;
  const simulated = meter.simulated ? '; simulated' : '';
  return ok('identity', `${name === '' ? 'says no name' : name} (${profile})${simulated}`);
}

/** How the line behaves: shares of what was received. Above 5 % a run is invalid (energy-method, section 4, case 12). */
export function checkLink({ frames, checksumErrors, torn, late, timeouts, reconnects }: MeterCounts): Check {
  const bad = checksumErrors + torn;
  const share = bad / Math.max(1, frames + bad);
  const text = `${plural(frames, 'good frame')}, ${checksumErrors} with a wrong checksum, ${torn} torn, ${late} late, ${plural(timeouts, 'timeout')}, ${plural(reconnects, 'reconnect')}`;
  const fix =
    frames === 0 && checksumErrors > 0
      ? 'no checksum is right: where the figures are, the unit never sends a right one (some HOPI HP-9800): give crc=ignore'
      : 'check cable, ground, speed and stop bits, and that nothing else reads the port';
  if (share > 0.05) return fail('line', text, fix);
  if (share > 0.001 || late + timeouts + reconnects > 0) return warn('line', text, fix);
  return ok('line', text);
}

export function checkSamples({ tally }: Assessment): Check {
  const { samples, unusable, gaps, flags } = tally;
  const named = Object.entries(flags).map(([flag, count]) => `${count} ${flag}`);
  const text = `${samples} in ${seconds(tally.seconds)}, ${unusable} unusable, ${plural(gaps, 'gap')}${named.length > 0 ? ` (${named.join(', ')})` : ''}`;
  if (samples - unusable < 2)
    return fail(
      'samples',
      text,
      flags['checksum'] === unusable
        ? 'samples with a wrong checksum do not count: see the line'
        : 'check wiring and load: the meter answers and shows no power',
    );
  if (unusable > 0 || gaps > 0)
    return warn(
      'samples',
      text,
      'a run with a gap, or with 2 % of it missing, has no energy: find the cause',
    );
  return ok('samples', text);
}

export function checkRate({ tally }: Assessment, traits: MeterTraits): Check {
  const { period } = tally;
  const nominal = seconds(traits.updatePeriodNs / 1e9);
  if (period.warnings.length > 0)
    return warn(
      'update rate',
      period.warnings.join(' ').replace(/\.$/, ''),
      period.basis === 'profile'
        ? 'measure again under a changing load, or for longer (--seconds)'
        : 'the measured period is used everywhere; choose the right profile if this is another meter',
    );
  const found = period.distribution;
  const spread = found === null ? '' : `, 90 % between ${seconds(found.p5)} and ${seconds(found.p95)}`;
  return ok(
    'update rate',
    `a new value every ${seconds(period.periodNs / 1e9)}${spread}; nominal ${nominal}`,
  );
}

export function checkStep({ tally }: Assessment, traits: MeterTraits): Check {
  const [step, nominal] = [tally.step_watts, traits.resolutionWatts];
  if (step === null) return ok('step', `one value only; the profile says ${nominal} W`);
  const text = `smallest difference seen ${step} W; the profile says ${nominal} W`;
  // Seen values are multiples of the step: fewer changes show a larger one, never a smaller.
  if (step < 0.99 * nominal)
    return warn(
      'step',
      text,
      'the meter is finer than its profile: say so in the plan, meter.resolution_watts',
    );
  return ok('step', text);
}

export function checkNoise({ mean_watts, sd_watts, sd_over_step, floor }: Assessment): Check {
  if (mean_watts === null || sd_watts === null || sd_over_step === null)
    return ok('noise', 'too few samples to tell');
  const text = `${mean_watts.toFixed(2)} W, deviation ${sd_watts.toPrecision(2)} W, ${sd_over_step.toPrecision(2)} of a step`;
  if (sd_over_step >= 0.5 || floor === null) return ok('noise', text);
  return warn(
    'noise',
    `${text}: below half a step, so the step is a bias that no number of samples takes away`,
    `differences below about ${percent(2 * floor)} cannot be shown: use a meter with a finer step where that matters`,
  );
}

export function checkUnits({ tally }: Assessment): Check {
  const { verdict, text } = tally.units;
  const sentence = text.replace(/\.$/, '');
  if (verdict === 'mismatch')
    return fail('units', sentence, 'choose the profile of this meter in the address (?profile=…)');
  if (verdict === 'unlikely')
    return warn('units', sentence, 'check the profile, and the wiring of the current sensor');
  return ok('units', sentence);
}

/** What a plan should say. */
export function checkPlan({ trim_s, blocks, floor }: Assessment, runSeconds: number): Check[] {
  const trims = ok('trims', `cut ${seconds(trim_s)} off each end of a window`);
  if (floor === null) return [trims];
  const needed = blocks.map((row) =>
    row.blocks === null
      ? `${row.percent} % cannot be shown`
      : `${row.percent} % needs at least ${plural(row.blocks, 'block')}`,
  );
  return [
    trims,
    ok(
      'blocks',
      `at this power, with runs of ${runSeconds} s: ${needed.join(', ')}; the step alone leaves ${percent(floor)}, what differs from run to run comes on top`,
    ),
  ];
}

/** The reader's own load is in the measured power when it runs on the measured machine. */
export function checkReader(cpuShare: number): Check {
  const text = `reading the meter takes ${percent(cpuShare)} of a core`;
  return cpuShare > 0.05
    ? warn('reader', text, 'poll less often, or read the meter on another machine')
    : ok('reader', text);
}
