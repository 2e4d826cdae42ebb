import { Command } from 'commander';
import { addressWarnings } from '../../../power/meters/open.js';
import { plural } from '../../../power/plural.js';
import { openMeter } from '../meter/open.js';
import { compareClocks } from '../../../power/trace/clocks.js';
import { startRecording, type Recording } from '../../../power/trace/recorder.js';
import { SpikedError } from '../../protocol/errors.js';
import { decimal } from '../options.js';
import { printJson, printLine, remark, table } from '../output.js';
import { interruptible } from './interrupt.js';
import { liveLine } from './live-line.js';
import { untilTold, type Ending } from './until-told.js';

interface RecordOptions {
  output: string;
  seconds?: number;
  json?: true;
}

export function recordCommand(): Command {
  return new Command('record')
    .description('record a wall meter into a trace: until Ctrl-C, or for some seconds')
    .argument('<meter>', 'address of the meter, such as pzem:/dev/serial/by-id/usb-x?slave=1')
    .requiredOption('-o, --output <folder>', 'where the trace goes; made when absent, must not hold one')
    .option('--seconds <n>', 'end after so long', decimal(0.01, 1e8))
    .option('--json', 'one JSON object at the end')
    .addHelpText(
      'after',
      `
Writes trace.json (who the meter is, three clocks), samples.csv (t_ns,watts,volts,amps,joules,flags) and frames.csv (the raw bytes),
appended and synced every 5 s; t_ns is CLOCK_MONOTONIC, as of token events. A meter that goes away leaves a gap and is waited for.
Without --seconds Ctrl-C is the regular end (status 0); before the end of --seconds it is an interruption (130). The trace is whole
either way. A meter that was away at the end, or a full disk, ends it with status 1; what came before is kept.

Example:
  spikectl energy record wattsup:/dev/serial/by-id/usb-FTDI -o monday --seconds 600`,
    )
    .action(record);
}

async function record(address: string, options: RecordOptions): Promise<void> {
  const meter = openMeter(address);
  addressWarnings(address).forEach(remark);
  await interruptible(async (stop) => {
    const abandon = (): void => void meter.stop();
    stop.addEventListener('abort', abandon);
    const recording = await startRecording(meter, options.output);
    stop.removeEventListener('abort', abandon);
    const ending = await showUntilTold(recording, stop, options.seconds);
    const failure = await recording.stop().catch((error: unknown) => error);
    await report(recording, options, ending);
    throwUnlessWell(recording, options, ending, failure);
  });
}

/** The line goes on while nothing comes: that is when somebody looks. */
async function showUntilTold(
  recording: Recording,
  stop: AbortSignal,
  seconds: number | undefined,
): Promise<Ending> {
  const line = liveLine();
  const started = performance.now();
  const timer = setInterval(() => line.show(liveText(recording, (performance.now() - started) / 1000)), 250);
  try {
    return await untilTold(stop, seconds, recording.failed);
  } finally {
    clearInterval(timer);
    line.end();
  }
}

function liveText({ tally }: Recording, seconds: number): string {
  const watts = tally.last?.watts ?? null;
  const reading = tally.lost ? 'meter lost' : watts === null ? '- W' : `${watts.toFixed(2)} W`;
  return `${reading} | ${plural(tally.samples, 'sample')} | ${plural(tally.gaps, 'gap')} | ${seconds.toFixed(0)} s | Ctrl-C ends it`;
}

function describe({ trace, tally }: Recording, output: string, ending: Ending) {
  const { header } = trace;
  const clocks = header.anchor && header.end ? compareClocks(header.anchor, header.end) : null;
  const { period, units, ...counts } = tally.result();
  const unitWarning = units.verdict === 'mismatch' || units.verdict === 'unlikely' ? [units.text] : [];
  return {
    trace: output,
    meter: header.meter,
    simulated: header.meter.simulated,
    ended: ending,
    written: trace.written,
    ...counts,
    update_period_s: period.periodNs / 1e9,
    update_period_basis: period.basis,
    suspended: clocks?.suspended ?? false,
    warnings: [...period.warnings, ...unitWarning, ...(clocks?.notes ?? [])],
  };
}

async function report(recording: Recording, options: RecordOptions, ending: Ending): Promise<void> {
  const result = describe(recording, options.output, ending);
  if (options.json) {
    await printJson(result);
    return;
  }
  const { meter } = result;
  const name = [meter.maker, meter.model ?? meter.profile ?? meter.kind, meter.serial]
    .filter(Boolean)
    .join(' ');
  const watts =
    result.least_watts === null || result.most_watts === null
      ? 'none'
      : `${result.least_watts.toFixed(2)} to ${result.most_watts.toFixed(2)} W`;
  await printLine(
    table([
      ['trace', result.trace],
      ['meter', `${name} at ${meter.address}${meter.simulated ? ' (simulated)' : ''}`],
      [
        'samples',
        `${result.written} over ${result.seconds.toFixed(1)} s, ${result.unusable} unusable, ${plural(result.gaps, 'gap')}`,
      ],
      ['power', watts],
      [
        'new value every',
        `${result.update_period_s.toPrecision(3)} s (${basisText[result.update_period_basis]})`,
      ],
    ]),
  );
  result.warnings.forEach(remark);
}

const basisText = { 'new-values': 'measured', samples: 'measured', profile: 'as the profile says' };

function throwUnlessWell(
  { tally }: Recording,
  { output, seconds }: RecordOptions,
  ending: Ending,
  failure: unknown,
): void {
  if (failure !== undefined) throw failure as Error;
  if (tally.lost)
    throw new SpikedError(
      'ERR_METER_LOST',
      `${output}: the meter went away and did not come back; the ${tally.samples - 1} samples before are kept`,
    );
  if (ending === 'interrupted' && seconds !== undefined)
    throw new SpikedError(
      'ERR_CANCELLED',
      `${output}: interrupted before ${seconds} s; the trace up to there is whole`,
    );
}
