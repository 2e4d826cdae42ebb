import { Command, InvalidArgumentError, Option } from 'commander';
import { OutputFile } from '../../../../export/output-file.js';
import { SpikedError } from '../../../protocol/errors.js';
import { useModel, withThreads } from '../../engine.js';
import { integer } from '../../options.js';
import { printJson, printLine } from '../../output.js';
import { cancelOnStop } from '../../signals.js';
import { bitnetConfigNames, type BitnetConfigName } from '../../synth/bitnet/configs.js';
import { withBar } from '../bar.js';
import { configurations, plain, type Configuration } from './configurations.js';
import { broken, outcomes } from './outcome.js';
import { readHarnessPrompts } from './prompts.js';
import { harnessJson, harnessMarkdown, type HarnessReport } from './report.js';
import { runHarness } from './run.js';
import { publishedVariable, withModel, type ModelSource } from './source.js';

interface HarnessOptions {
  threads: number;
  rounds: number;
  only?: readonly Configuration[];
  synth: BitnetConfigName;
  output?: string;
  json?: true;
}

const names = configurations.map(({ name }) => name);

/** Parser for commander: `certified,full-low` as configurations, and plain greedy with them. */
function chosen(text: string): Configuration[] {
  const asked = text.split(',').map((name) => name.trim());
  const unknown = asked.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`expected some of ${names.join(', ')}, found "${unknown}"`);
  return configurations.filter((one) => one === plain || asked.includes(one.name));
}

export function harnessBench(): Command {
  const command = new Command('harness')
    .description('15 prompts in every way to decode: the ids beside plain greedy, tokens/s, memory')
    .argument(
      '[model]',
      `model file (GGUF); the one that ${publishedVariable} names, else one of random weights`,
    )
    .option('--rounds <n>', 'rounds; in each every configuration has its turn', integer(1, 1000), 3)
    .option('--only <names>', `some of ${names.join(',')}; ${plain.name} is always there`, chosen)
    .addOption(
      new Option('--synth <config>', 'shape of the model of random weights')
        .choices(bitnetConfigNames)
        .default('bitnet-2b4t'),
    )
    .option('-o, --output <file>', 'write the report, Markdown, to this file instead')
    .option('--json', 'one JSON object, beside a report that -o writes')
    .addHelpText(
      'after',
      `
Exit status 3 when a configuration that promises plain greedy's ids has others. ${publishedVariable} must name BitNet b1.58 2B4T's published file.
The model of random weights takes 1.2 GB below TMPDIR while it runs. Use a machine with nothing else to do.`,
    )
    .action(run);
  return withThreads(command);
}

async function run(model: string | undefined, options: HarnessOptions): Promise<void> {
  const report = await cancelOnStop('bench harness', (signal) =>
    withModel(model, options.synth, (source) => measure(source, options, signal)),
  );
  const { output } = options;
  const text = harnessMarkdown(report);
  if (output !== undefined)
    await OutputFile.write(output, (file) => file.writeAt(Buffer.from(`${text}\n`), 0));
  if (options.json) await printJson(harnessJson(report));
  else await printLine(output ?? text);
  const fault = broken(report.outcomes);
  if (fault !== undefined) throw new SpikedError('ERR_CHECK_FAILED', `${report.source.path}: ${fault}`);
}

async function measure(
  source: ModelSource,
  { threads, rounds, only = configurations }: HarnessOptions,
  signal: AbortSignal,
): Promise<HarnessReport> {
  const { info, isa } = await useModel(source.path, { threads }, (opened, engine) =>
    Promise.resolve({ info: opened.info, isa: engine.isa }),
  );
  const prompts = await readHarnessPrompts(source.path, info);
  const request = { model: source.path, prompts: prompts.ids, threads, rounds, configurations: only };
  const measured = await withBar(rounds * only.length, (bar) => runHarness(request, bar, signal));
  const found = outcomes(measured);
  return { source, info, isa, threads, rounds, promptSource: prompts.source, outcomes: found };
}
