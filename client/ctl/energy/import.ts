import { Command, Option } from 'commander';
import { importCsv, type ImportOptions, type ImportResult } from '../../../power/trace/import.js';
import { parseColumns, unitsText } from '../../../power/trace/import-columns.js';
import { usage } from '../exit.js';
import { decimal, integer } from '../options.js';
import { printJson, printLine, remark, table } from '../output.js';

interface Options {
  output: string;
  columns: string;
  delimiter?: string;
  decimal: 'point' | 'comma';
  skip: number;
  sort?: true;
  anchor?: string;
  stepWatts?: number;
  accuracy?: number;
  rule: 'backward-rectangle' | 'trapezoid';
  current: 'ac' | 'dc';
  simulated?: true;
  json?: true;
}

export function importCommand(): Command {
  return new Command('import')
    .description("make a trace of another program's CSV")
    .argument('<file>', 'CSV of times and powers')
    .requiredOption('-o, --output <folder>', 'where the trace goes; made when absent, must not hold one')
    .requiredOption('--columns <map>', 'QUANTITY=COLUMN[:UNIT],… with columns by title or number (below)')
    .option('--delimiter <c>', 'one character, or tab (default: guessed from the first line)')
    .addOption(new Option('--decimal <mark>', 'decimal mark').choices(['point', 'comma']).default('point'))
    .option('--skip <n>', 'lines before the titles', integer(0, 10_000), 0)
    .option('--sort', 'put rows in the order of their times, and say how many moved')
    .option('--anchor <time=ns>', "the file's TIME is NS of CLOCK_MONOTONIC, to put token times beside it")
    .option(
      '--step-watts <n>',
      'step of the meter (default: smallest difference in the file)',
      decimal(1e-9, 1000),
    )
    .option('--accuracy <share>', 'greatest error as a share of the reading, such as 0.005', decimal(0, 0.5))
    .addOption(
      new Option('--rule <name>', 'what a value is: the mean of the time before it, or an instant')
        .choices(['backward-rectangle', 'trapezoid'])
        .default('backward-rectangle'),
    )
    .addOption(new Option('--current <kind>', 'alternating or direct').choices(['ac', 'dc']).default('ac'))
    .option('--simulated', 'the file does not come from a real meter: every result will say so')
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
Quantities and their units, the first being the default:
  ${unitsText.replaceAll('; ', '\n  ')}
time is needed, and watts (of direct current volts and amps will do). "wall" is a time of day, 2026-01-02 03:04:05.678, with or without a
zone. Times must ascend; equal rows are merged. Empty cells, NaN and the like are samples without a value. Watts are held to volts times
amps: a wrong unit is refused.

Example:
  spikectl energy import log.csv -o monday --columns "time=Time:wall,watts=P [mW]:mW" --decimal comma`,
    )
    .action(importFile);
}

async function importFile(file: string, options: Options): Promise<void> {
  const delimiter = options.delimiter === 'tab' ? '\t' : options.delimiter;
  if (delimiter !== undefined && delimiter.length !== 1)
    throw usage(`--delimiter: expected one character or tab, found "${delimiter}"`);
  if (options.decimal === 'comma' && delimiter === ',')
    throw usage('--delimiter: expected none of the decimal mark, found ","');
  const settings: ImportOptions = {
    columns: parseColumns(options.columns),
    decimalComma: options.decimal === 'comma',
    skip: options.skip,
    sort: options.sort ?? false,
    rule: options.rule,
    current: options.current === 'dc' ? 'direct' : 'alternating',
    simulated: options.simulated ?? false,
    ...(delimiter !== undefined && { delimiter }),
    ...(options.anchor !== undefined && { anchor: options.anchor }),
    ...(options.stepWatts !== undefined && { stepWatts: options.stepWatts }),
    ...(options.accuracy !== undefined && { accuracy: options.accuracy }),
  };
  await report(await importCsv(file, options.output, settings), options);
}

async function report(found: ImportResult, { output, json, simulated }: Options): Promise<void> {
  const { samples, merged, moved, unusable, stepWatts, period, units } = found;
  if (json) {
    await printJson({
      trace: output,
      simulated: simulated ?? false,
      samples,
      merged,
      moved,
      unusable,
      step_watts: stepWatts,
      update_period_s: period.periodNs / 1e9,
      power_factor: units.ratio,
      units: units.verdict,
    });
    return;
  }
  await printLine(
    table([
      ['trace', output],
      ['samples', `${samples}; ${merged} rows merged, ${moved} moved, ${unusable} without a usable power`],
      ['new value every', `${(period.periodNs / 1e9).toPrecision(3)} s`],
      ['step', `${stepWatts} W`],
    ]),
  );
  if (units.verdict === 'unlikely') remark(units.text);
}
