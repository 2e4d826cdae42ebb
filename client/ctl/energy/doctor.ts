import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { assess, type Assessment } from '../../../power/doctor/assess.js';
import type { Meter, Sample } from '../../../power/meters/meter.js';
import { serialPortOf } from '../../../power/meters/open.js';
import { openMeter } from '../meter/open.js';
import { SpikedError } from '../../protocol/errors.js';
import { ok, type Check } from '../doctor/check.js';
import { decimal } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import * as findings from './doctor/findings.js';
import { checkPort, faultCheck } from './doctor/port.js';
import { interruptible } from './interrupt.js';
import { liveLine } from './live-line.js';

interface DoctorOptions {
  seconds?: number;
  runSeconds: number;
  json?: true;
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'check a wall meter: port, answers, update rate, step, noise; what it can show (exit 3 when something fails)',
    )
    .argument('<meter>', 'address of the meter, such as pzem:/dev/serial/by-id/usb-x?slave=1')
    .option(
      '--seconds <n>',
      'measure for so long (default: 30 update periods, at least 10 s)',
      decimal(0.1, 3600),
    )
    .option('--run-seconds <n>', 'length of a run, for the number of blocks', decimal(1, 86_400), 60)
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
One line for each thing that was looked at: ok, warn (works, but not as it could) or fail, with what to do about it. The load should be
steady and like that of the runs to come: noise and blocks are those of this load.

Example:
  spikectl energy doctor pzem:/dev/serial/by-id/usb-1a86`,
    )
    .action(doctor);
}

async function doctor(address: string, options: DoctorOptions): Promise<void> {
  const meter = openMeter(address);
  const port = serialPortOf(address);
  const before = port === undefined ? [] : await checkPort(port);
  const reached = !before.some(({ status }) => status === 'fail');
  const measured = reached ? await interruptible((stop) => measure(meter, options, stop)) : undefined;
  await report(meter, [...before, ...(measured?.checks ?? [])], measured?.assessment, options);
}

interface Measured {
  readonly checks: readonly Check[];
  readonly assessment?: Assessment & { readonly reader_cpu: number };
}

async function measure(meter: Meter, options: DoctorOptions, stop: AbortSignal): Promise<Measured> {
  const samples: Sample[] = [];
  const abandon = (): void => void meter.stop();
  stop.addEventListener('abort', abandon);
  const started = performance.now();
  try {
    await meter.start({ sample: (sample) => samples.push(sample) });
  } catch (error) {
    if (!(error instanceof SpikedError) || error.code === 'ERR_CANCELLED') throw error;
    return { checks: [faultCheck('answers', error)] };
  }
  const checks = [
    ok('answers', `after ${(performance.now() - started).toFixed(0)} ms`),
    findings.checkIdentity(meter.identity),
  ];
  const wanted = options.seconds ?? Math.max(10, (30 * meter.traits.updatePeriodNs) / 1e9);
  const reader_cpu = await watch(samples, wanted, stop);
  const { counts, traits } = meter;
  await meter.stop();
  if (stop.aborted)
    throw new SpikedError('ERR_CANCELLED', `interrupted before ${wanted} s; nothing is reported`);
  const assessment = assess(samples, traits, { runSeconds: options.runSeconds });
  checks.push(
    ...(counts.frames + counts.timeouts > 0 ? [findings.checkLink(counts)] : []),
    findings.checkSamples(assessment),
    findings.checkRate(assessment, traits),
    findings.checkStep(assessment, traits),
    findings.checkNoise(assessment),
    findings.checkUnits(assessment),
    ...findings.checkPlan(assessment, options.runSeconds),
    findings.checkReader(reader_cpu),
  );
  return { checks, assessment: { ...assessment, reader_cpu } };
}

/** Waits, with a line on a terminal; returns the share of one core that this process used. */
async function watch(samples: readonly Sample[], wanted: number, stop: AbortSignal): Promise<number> {
  const line = liveLine();
  const started = performance.now();
  const cpu = process.cpuUsage();
  const elapsed = (): number => (performance.now() - started) / 1000;
  while (elapsed() < wanted && !stop.aborted) {
    const last = samples.at(-1)?.watts ?? null;
    line.show(
      `${last === null ? '-' : last.toFixed(2)} W | ${samples.length} samples | ${elapsed().toFixed(0)} of ${wanted.toFixed(0)} s`,
    );
    await sleep(Math.min(500, 1000 * (wanted - elapsed())), undefined, { signal: stop }).catch(
      () => undefined,
    );
  }
  line.end();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1e6 / elapsed();
}

async function report(
  meter: Meter,
  checks: readonly Check[],
  assessment: Measured['assessment'],
  options: DoctorOptions,
): Promise<void> {
  const failed = checks.filter(({ status }) => status === 'fail');
  const warned = checks.filter(({ status }) => status === 'warn');
  if (options.json)
    await printJson({
      meter: meter.identity,
      simulated: meter.identity.simulated,
      failed: failed.length,
      warned: warned.length,
      checks,
      measured: assessment === undefined ? null : figures(assessment, meter, options),
    });
  else
    await printLine(
      table(
        checks.map(({ name, status, text, fix }) => [
          status,
          name,
          fix === undefined ? text : `${text}; fix: ${fix}`,
        ]),
      ),
    );
  if (failed.length === 0) return;
  const names = failed.map(({ name }) => name).join(', ');
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `energy doctor: expected nothing wrong, found ${failed.length}: ${names}`,
  );
}

function figures(
  { tally, blocks, ...rest }: NonNullable<Measured['assessment']>,
  meter: Meter,
  options: DoctorOptions,
) {
  const { period, units, ...counts } = tally;
  return {
    ...counts,
    profile_step_watts: meter.traits.resolutionWatts,
    update_period_s: period.periodNs / 1e9,
    update_period_basis: period.basis,
    update_period_distribution_s: period.distribution,
    profile_update_period_s: meter.traits.updatePeriodNs / 1e9,
    sample_interval_s: period.sampleInterval_s,
    repeated: period.repeated,
    power_factor: units.ratio,
    units: units.verdict,
    ...rest,
    run_seconds: options.runSeconds,
    blocks_needed: blocks,
  };
}
