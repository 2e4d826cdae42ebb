import { Command } from 'commander';
import { SpikedError } from '../protocol/errors.js';
import type { Activations, NativeEngine, NativeModel } from '../../native/host/index.js';
import { audit, type AuditReport } from './audit/audit.js';
import { activationsList } from './audit/options.js';
import { auditText, legend } from './audit/report.js';
import { useModel, withEngine, type PlaceOptions } from './engine.js';
import { usage } from './exit.js';
import { readCase } from './golden/case.js';
import { casesFor, checkSampling, readSamplingCases, type SamplingReport } from './golden/sampling.js';
import { checkSequence, type SequenceReport } from './golden/sequence.js';
import { samplingTable, sequenceTable, ternaryTable } from './golden/report.js';
import { checkTernaryCase } from './golden/ternary-check.js';
import type { TernaryReport } from './golden/ternary-sequence.js';
import { integer } from './options.js';
import { printJson, printLine } from './output.js';

interface CheckOptions extends PlaceOptions {
  golden?: string;
  sampling?: string;
  case?: string;
  audit?: true;
  ids?: string;
  text?: string;
  against?: string;
  flips?: number;
  activations?: Activations[];
  json?: true;
}

export function checkCommand(): Command {
  const command = new Command('check')
    .description('compare a model, as this engine computes it, with reference data')
    .argument('<model>', 'model file (GGUF) exported from the checkpoint that made the reference')
    .option(
      '--golden <dir>',
      'case folder: index.json and expected.safetensors, or int8_expected.safetensors for INT8 weights',
    )
    .option('--sampling <file>', 'JSON file with the distributions before each draw')
    .option(
      '--case <name>',
      'which case of --sampling the model belongs to (default: the one the model is named after)',
    )
    .option(
      '--activations <list>',
      "of the blocks' dense products: f32 is the reference, the others are faster and inexact; several, separated by commas, with --audit",
      activationsList,
    )
    .option('--audit', 'hold the model to a float64 reference, spike by spike')
    .option('--ids <file>', 'with --audit: token ids to feed (default: a built-in text)')
    .option('--text <file>', 'with --audit: text to feed, BOS first')
    .option(
      '--against <model>',
      'with --audit: another file of the same shape, such as other weights of the same checkpoint',
    )
    .option(
      '--flips <n>',
      'with --audit: neurons to force the other way, one at a time, the nearest to their thresholds first (default: 1)',
      integer(0, 64),
    )
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
A sequence marked robust passes when spike counts and greedy ids are equal and every logit and state value lies
within 5e-5 of the reference. Others are reported, because a correct program may flip a neuron there: "margin" is the
smallest distance of any neuron from its threshold. A prompt fed in pieces must give the same bits in every sequence.
Distributions pass when every probability lies within 1e-5. Exit status 3 when anything fails.

Ternary models: up to the position to which the case calls a sequence robust, quantised activations and greedy ids are equal and every logit lies
within 1e-4 (1e-3 in cases d_* and for F16 keys and values). What differs behind it is reported and does not fail: a correct program may round
a code the other way there. Sequences of F16 keys and values and of contract hyphae get engines of their own; --kv and --contract choose.

--audit tells, for every precision (--activations, by default all that the weights can run), for --against and for the recorded
runs of --golden, the first spike that departs from the float64 reference with the reference's margin |z - threshold|, how many
differ, and the error of the logits as they are and with the reference's spikes forced. Exit status 3 when more than rounding
(1e-4) is left although spikes and quantised activations are the reference's.`,
    )
    .action(check);
  return withEngine(command);
}

async function check(path: string, options: CheckOptions): Promise<void> {
  if (options.audit) return checkAudit(path, options);
  for (const name of ['ids', 'text', 'against', 'flips'] as const)
    if (options[name] !== undefined) throw usage(`--${name}: expected --audit beside it, found none`);
  const [activations = 'f32', ...more] = options.activations ?? [];
  if (more.length > 0) throw usage('--activations: expected one without --audit, found several');
  if (options.golden === undefined && options.sampling === undefined)
    throw usage('expected --golden or --sampling, found neither');
  if (options.case !== undefined && options.sampling === undefined)
    throw usage('--case: expected --sampling beside it, found none');
  const { info, sequences, sampling, head } = await useModel(
    path,
    { ...options, activations },
    async (model, engine) => ({
      info: model.info,
      sequences:
        options.golden === undefined || model.info.weights === 'i2_s'
          ? []
          : await runSequences(model, options.golden),
      sampling:
        options.sampling === undefined ? [] : await runSampling(model, options.sampling, options.case),
      head: describe(path, model, engine),
    }),
  );
  const ternary =
    options.golden !== undefined && info.weights === 'i2_s'
      ? await checkTernaryCase(path, { ...options, activations }, options.golden, info)
      : [];
  const failed = [
    ...sequences.filter((report) => failedSequence(report)).map((report) => `sequence ${report.tag}`),
    ...ternary.filter((report) => !report.passed).map((report) => `sequence ${report.tag}`),
    ...sampling.filter((report) => !report.passed).map((report) => `sampling case ${report.index}`),
  ];
  if (options.json)
    await printJson({
      ...head,
      passed: failed.length === 0,
      sequences: [...sequences, ...ternary],
      sampling,
    });
  else await printLine(toPeople(head, sequences, ternary, sampling));
  if (failed.length > 0)
    throw new SpikedError('ERR_CHECK_FAILED', `${path}: differs from the reference in ${failed.join(', ')}`);
}

async function checkAudit(path: string, options: CheckOptions): Promise<void> {
  const inputs = (['golden', 'ids', 'text'] as const).filter((name) => options[name] !== undefined);
  if (inputs.length > 1)
    throw usage(`expected one of --golden, --ids, --text, found --${inputs.join(', --')}`);
  if (options.sampling !== undefined) throw usage('--sampling: expected no --audit beside it');
  const audits = await audit(path, { ...options, flips: options.flips ?? 1 });
  const beyond = audits.flatMap(({ input, runs }) =>
    runs.filter(({ within_bound: within }) => within === false).map(({ run }) => `${input}: ${run}`),
  );
  if (options.json)
    await printJson({ model: path, threads: options.threads, passed: beyond.length === 0, audits });
  else await printLine(auditsText(audits));
  if (beyond.length === 0) return;
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `${path}: expected logits and thresholds within 1e-4 of the reference with its spikes and inputs, found more in ${beyond.join(', ')}`,
  );
}

function auditsText(audits: AuditReport[]): string {
  return [...audits.map(auditText), legend].join('\n\n');
}

function failedSequence(report: SequenceReport): boolean {
  return (report.robust && !report.passed) || report.splits_different.length > 0;
}

async function runSequences(model: NativeModel, folder: string): Promise<SequenceReport[]> {
  const golden = await readCase(folder, model.info);
  const reports: SequenceReport[] = [];
  for (const sequence of golden.sequences) reports.push(await checkSequence(model, golden, sequence));
  return reports;
}

async function runSampling(
  model: NativeModel,
  file: string,
  name: string | undefined,
): Promise<SamplingReport[]> {
  const reports: SamplingReport[] = [];
  for (const entry of casesFor(
    file,
    await readSamplingCases(file),
    name ?? model.info.name,
    name !== undefined,
  ))
    reports.push(await checkSampling(model, entry));
  return reports;
}

function describe(path: string, model: NativeModel, engine: NativeEngine) {
  const { name, architecture, weights, form, dataSha256 } = model.info;
  return {
    model: path,
    name,
    architecture,
    weights,
    form,
    data_sha256: dataSha256,
    isa: engine.isa,
    threads: engine.threads,
    activations: engine.activations,
  };
}

function toPeople(
  head: ReturnType<typeof describe>,
  sequences: SequenceReport[],
  ternary: TernaryReport[],
  sampling: SamplingReport[],
): string {
  const parts = [
    `${head.model}: ${head.form || head.architecture}, ${head.weights} weights, ${head.isa}, ${head.activations} activations, ${head.threads} threads`,
  ];
  if (sequences.length > 0) parts.push(sequenceTable(sequences));
  if (ternary.length > 0) parts.push(ternaryTable(ternary));
  if (sampling.length > 0) parts.push(samplingTable(sampling));
  return parts.join('\n\n');
}
