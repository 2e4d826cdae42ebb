import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { calibrate, type CalibrationRun } from '../../../power/calibrate/calibrate.js';
import { spinningLoad } from '../../../power/calibrate/load.js';
import type { Meter } from '../../../power/meters/meter.js';
import { openMeter } from '../meter/open.js';
import { plainNumber, shortNumber } from '../../../power/report/words.js';
import { readClocks } from '../../../power/trace/clocks.js';
import { createTrace } from '../../../power/trace/writer.js';
import { SpikedError } from '../../protocol/errors.js';
import { decimal, integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { calibrationPicture } from './pictures/calibration.js';
import { writeWhole } from './write-report.js';

interface CalibrateOptions {
  half: number;
  cycles: number;
  output?: string;
  json?: true;
}

export function calibrateCommand(): Command {
  return new Command('calibrate')
    .description('how late a meter tells what this machine did: a square wave of work and rest')
    .argument('<meter>', 'address of the meter, such as pzem:/dev/serial/by-id/…')
    .option(
      '--half <s>',
      'length of a half of the wave, or more where the meter is slow',
      decimal(0.2, 600),
      4,
    )
    .option('--cycles <n>', 'of work and rest', integer(3, 200), 8)
    .option('-o, --output <dir>', 'new folder for the trace, calibration.json and calibration.svg')
    .option('--json', 'print the result as one line')
    .addHelpText(
      'after',
      `
Every CPU spins and sleeps by turns while the meter is read; shifting the known wave over the samples gives the delay
of the meter behind the machine's clock, and its spread over the cycles. This machine must be what the meter measures,
and have nothing else to do. The delay goes into a plan as "meter": { "latency_s": … }. Exit status 3 when the step
between work and rest is not seen over the meter's resolution and noise.`,
    )
    .action(run);
}

async function run(address: string, { half, cycles, output, json }: CalibrateOptions): Promise<void> {
  const meter = openMeter(address);
  const found = await measured(meter, half, cycles, output);
  const result = resultOf(meter, found);
  if (output !== undefined) {
    await writeWhole(join(output, 'calibration.json'), `${JSON.stringify(result, null, 1)}\n`);
    await writeWhole(join(output, 'calibration.svg'), calibrationPicture(found, meter));
  }
  await (json ? printJson(result) : printLine(text(result)));
  const { refused } = found.alignment;
  if (refused !== null) throw new SpikedError('ERR_CHECK_FAILED', `${address}: the latency cannot be told: ${refused}`); // prettier-ignore
}

async function measured(
  meter: Meter,
  halfSeconds: number,
  cycles: number,
  output: string | undefined,
): Promise<CalibrationRun> {
  const stop = new AbortController();
  const abort = () => {
    stop.abort();
  };
  const load = await spinningLoad();
  process.on('SIGINT', abort).on('SIGTERM', abort);
  const bar = process.stderr.isTTY
    ? new SingleBar({ stream: process.stderr, format: '{bar} half {value} of {total}', hideCursor: true, clearOnComplete: true }) // prettier-ignore
    : undefined;
  const header = () => ({ meter: meter.identity, traits: meter.traits });
  try {
    const trace = output === undefined ? undefined : await createTrace(join(output, 'trace'), { format: 'spiked-trace', version: 1, anchor: readClocks(), ...header() }); // prettier-ignore
    bar?.start(2 * cycles, 0);
    try {
      const found = await calibrate(meter, load, {
        halfSeconds,
        cycles,
        signal: stop.signal,
        ...(trace === undefined ? {} : { sink: trace }),
        onStep: (done) => bar?.update(done),
      });
      await trace?.describe(header());
      return found;
    } finally {
      await trace?.close();
    }
  } finally {
    bar?.stop();
    process.off('SIGINT', abort).off('SIGTERM', abort);
    await load.stop();
  }
}

/** calibration.json. */
function resultOf({ identity, traits }: Meter, { edges, updatePeriodNs, alignment }: CalibrationRun) {
  const { latency_s: latency } = alignment;
  const suggested = latency === null ? null : Math.max(0, Math.round(latency * 1000) / 1000);
  return {
    format: 'spiked-calibration',
    version: 1,
    simulated: identity.simulated,
    meter: identity,
    resolution_watts: traits.resolutionWatts,
    rule: traits.rule,
    update_period_s: updatePeriodNs / 1e9,
    ...alignment,
    /** For the plan: `meter.latency_s`. */
    suggested_latency_s: suggested,
    edges: edges.map(({ tNs, busy }) => ({ t_ns: String(tNs), busy })),
  };
}

function text(result: ReturnType<typeof resultOf>): string {
  const { latency_s: latency, sd_s: sd, u_s: u, suggested_latency_s: suggested } = result;
  const delay = latency === null || u === null ? '–' : `${latency.toFixed(3)} ± ${u.toFixed(3)} s (sd ${shortNumber(sd)} s over ${result.cycles} cycles)`; // prettier-ignore
  const stamp = result.simulated ? 'SIMULATED: no meter measured this\n' : '';
  const rows = [
    ['meter', [result.meter.maker, result.meter.model ?? result.meter.kind].filter((word) => word !== null).join(' ')], // prettier-ignore
    ['latency', delay],
    ['step between rest and work', `${shortNumber(result.step_watts)} W over ${shortNumber(result.idle_watts)} W`], // prettier-ignore
    ['noise', `${shortNumber(result.noise_watts)} W, the meter's step is ${plainNumber(result.resolution_watts)} W`], // prettier-ignore
    ['correlation', shortNumber(result.correlation)],
    ['update period', `${shortNumber(result.update_period_s)} s, ${result.samples} samples`],
    ...(suggested === null ? [] : [['for the plan', `"meter": { "latency_s": ${suggested} }`]]),
  ];
  return `${stamp}${table(rows)}`;
}
