import { Command } from 'commander';
import type { NativeEngine, NativeModel } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { useModel, useSession, withActivations, withEngine } from '../engine.js';
import { usage } from '../exit.js';
import { integer } from '../options.js';
import { printJson, printLine, remark, table } from '../output.js';
import { evalBar } from './bar.js';
import { readInput, type EvalInput, type InputFile } from './input.js';
import { noTotals, perplexityOf, scoreWindows, type Totals, type WindowSettings } from './perplexity.js';
import { ResumeFile } from './resume.js';
import { windowsOf } from './windows.js';

interface PerplexityOptions {
  text?: string;
  ids?: string;
  seq: number;
  stride?: number;
  threads: number;
  bos?: true;
  resume?: string;
  json?: true;
}

export function perplexityCommand(): Command {
  const command = new Command('perplexity')
    .description('perplexity of a model on a text, scored in windows from a fresh state each')
    .argument('<model>', 'model file (GGUF)')
    .option('--text <file>', 'UTF-8 text, turned into ids by the tokenizer inside the model')
    .option('--ids <file>', 'token ids apart by spaces, line ends or commas')
    .option('--seq <n>', 'ids of a window', integer(2, 1 << 20), 512)
    .option(
      '--stride <n>',
      'ids from the start of a window to the next (default: --seq)',
      integer(1, 1 << 20),
    )
    .option('--bos', "put BOS in front of every window, and score the window's first id, too")
    .option('--resume <file>', 'keep finished windows in this file, and go on after those that it has')
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
Every id is scored once, in the first window that reaches it, except the first id of a window that begins where the
one before ended. perplexity = exp(nats / scored tokens). masked_mass is the mean probability that the slots without
a token would have had. The same bits at any thread count and instruction set. docs/cli.md has the whole rule.`,
    )
    .action(perplexity);
  return withActivations(withEngine(command));
}

async function perplexity(path: string, options: PerplexityOptions): Promise<void> {
  const file = inputFile(options);
  const { seq, stride = seq } = options;
  if (stride > seq) throw usage(`--stride: expected at most --seq, ${seq}, found ${stride}`);
  const result = await useModel(path, options, async (model, engine) => {
    const input = await readInput(path, model.info, file);
    if (options.bos && input.bosId === undefined)
      throw new SpikedError(
        'ERR_TOKENIZER_MISSING',
        `${path}: --bos: expected a tokenizer with BOS, found none`,
      );
    const settings = { seq, stride, bosId: options.bos ? input.bosId : undefined };
    const length = Math.min(seq, input.ids.length);
    if (length > model.info.maxContext)
      remark(`windows of ${length} ids are longer than the ${model.info.maxContext} of the model's context`);
    const totals = await evaluate(model, engine, input, settings, options.resume);
    return describe(path, model, engine, input, settings, totals);
  });
  await (options.json ? printJson(result) : printLine(toPeople(result)));
}

function inputFile({ text, ids }: PerplexityOptions): InputFile {
  if (text !== undefined && ids === undefined) return { text };
  if (ids !== undefined && text === undefined) return { ids };
  throw usage(`expected --text or --ids, found ${text === undefined ? 'neither' : 'both'}`);
}

async function evaluate(
  model: NativeModel,
  engine: NativeEngine,
  { ids, idsSha256 }: EvalInput,
  settings: WindowSettings,
  resume: string | undefined,
): Promise<Totals> {
  const { seq, stride, bosId } = settings;
  const bos = bosId !== undefined;
  const kept =
    resume === undefined
      ? undefined
      : await ResumeFile.open(resume, {
          format: 'spiked perplexity 1',
          model_sha256: model.info.dataSha256,
          ids_sha256: idsSha256,
          seq,
          stride,
          bos,
          activations: engine.activations,
        });
  let totals = kept?.totals ?? noTotals;
  const bar = evalBar([...windowsOf(ids.length, seq, stride, bos)].length, totals);
  try {
    return await useSession(model, async (session) => {
      const stop = new AbortController();
      const interrupt = () => {
        stop.abort();
        session.cancel();
      };
      process.on('SIGINT', interrupt);
      try {
        for await (totals of scoreWindows(session, ids, settings, totals)) {
          await kept?.add(totals);
          bar.show(totals);
          // Between two windows there is nothing that cancel() could end.
          if (stop.signal.aborted)
            throw new SpikedError('ERR_CANCELLED', `cancelled after window ${totals.windows}`);
        }
      } finally {
        process.off('SIGINT', interrupt);
      }
      return totals;
    });
  } finally {
    bar.end();
    await kept?.close();
  }
}

function describe(
  path: string,
  model: NativeModel,
  engine: NativeEngine,
  input: EvalInput,
  { seq, stride, bosId }: WindowSettings,
  totals: Totals,
) {
  const { name, weights, dataSha256 } = model.info;
  return {
    model: path,
    name,
    weights,
    data_sha256: dataSha256,
    isa: engine.isa,
    threads: engine.threads,
    activations: engine.activations,
    file_sha256: input.fileSha256,
    ids_sha256: input.idsSha256,
    seq,
    stride,
    bos: bosId !== undefined,
    windows: totals.windows,
    tokens: input.ids.length,
    tokens_seen: totals.fed,
    tokens_scored: totals.scored,
    nats: totals.nats,
    perplexity: perplexityOf(totals),
    masked_mass: totals.maskedMass / totals.scored,
  };
}

function toPeople(result: ReturnType<typeof describe>): string {
  const { seq, stride, bos } = result;
  return table([
    ['perplexity', result.perplexity.toFixed(4)],
    ['nats', `${result.nats.toFixed(4)}, ${(result.nats / result.tokens_scored).toFixed(6)} a token`],
    ['tokens', `${result.tokens}; ${result.tokens_seen} seen, ${result.tokens_scored} scored`],
    ['windows', `${result.windows} of ${seq} tokens, every ${stride}${bos ? ', BOS in front of each' : ''}`],
    ['masked mass', result.masked_mass.toExponential(3)],
    [
      'engine',
      `${result.isa}, ${result.threads} threads, ${result.weights} weights, ${result.activations} activations`,
    ],
  ]);
}
