import { Command, Option } from 'commander';
import type { HeadMode, HeadSettings, NativeModel } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { bundledModel } from '../daemon/reach.js';
import { useModel, withActivations, withEngine } from '../engine.js';
import { readInput } from '../eval/input.js';
import { readTensors } from '../golden/tensors.js';
import { decimal, integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { compareHeads, type HeadComparison } from './compare-heads.js';
import { greedy } from './greedy.js';
import { makeStates, type StateClass } from './hidden-states.js';

interface HeadOptions {
  threads: number;
  mode: HeadMode;
  headActivations: 'f32' | 'i16' | 'i8';
  scope: 'projection' | 'head';
  k: number;
  threshold: number;
  cap?: number;
  headBits: '8' | '4';
  states: number;
  seed: number;
  text?: string;
  hidden?: string;
  json?: true;
}

export function headBench(): Command {
  const command = new Command('head')
    .description('a head against the full one on many hidden states: ids, proofs, bytes, time')
    .argument('[model]', 'model file (GGUF); the bundled one unless given')
    .addOption(
      new Option('--mode <mode>', 'the head')
        .choices(['scan', 'gate', 'certified', 'topk'])
        .default('certified'),
    )
    .addOption(
      new Option('--head-activations <type>', 'scan: precision of the pass')
        .choices(['f32', 'i16', 'i8'])
        .default('i8'),
    )
    .addOption(
      new Option('--scope <scope>', 'gate: what is scanned with i8 activations')
        .choices(['projection', 'head'])
        .default('projection'),
    )
    .option('--k <n>', 'gate: rows computed again; topk: of each block of 4096', integer(1, 4096), 32)
    .option('--threshold <gap>', 'gate: verify below this gap', decimal(0, 1e30), 0.5)
    .option('--cap <n>', 'certified: most rows before all are computed', integer(1, 2 ** 24))
    .addOption(
      new Option('--head-bits <bits>', "certified and topk over F16 weights: of the first pass's table")
        .choices(['8', '4'])
        .default('8'),
    )
    .option('--states <n>', 'hidden states to make', integer(8, 10_000_000), 2000)
    .option('--seed <n>', 'of the states', integer(1, 2 ** 31 - 1), 1)
    .option('--text <file>', 'take the states of this text instead of what the model writes')
    .option('--hidden <file>', 'take them from this safetensors file (f32 [n, embed_dim]) instead')
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
Half of the states are of texts (greedy, masked and penalised, drawn from the top k), half are made to be hard: near ties of the full head
found by halving, zeros, one huge component, noise. differences counts ids that are not the full head's; proved those decided by the bound,
fell_back those for which every row was computed. Exit status 3 when certified differs.`,
    )
    .action(run);
  return withActivations(withEngine(command));
}

async function run(path: string | undefined, options: HeadOptions): Promise<void> {
  const file = path ?? bundledModel;
  const head: HeadSettings = {
    mode: options.mode,
    activations: options.headActivations,
    scope: options.scope,
    k: options.k,
    threshold: options.threshold,
    cap: options.cap,
  };
  const headBits = options.headBits === '4' ? 4 : 8;
  const result = await useModel(file, { ...options, headBits }, async (model, engine) => {
    model.checkHead(head);
    const classes: HeadComparison[] = [];
    for (const states of await statesFor(file, model, options))
      classes.push(await compareHeads(model, states, head));
    return {
      model: model.info.name,
      data_sha256: model.info.dataSha256,
      weights: model.info.weights,
      isa: engine.isa,
      threads: engine.threads,
      head,
      ...totals(classes),
      classes,
    };
  });
  if (options.json) await printJson(result);
  else await printLine(shown(result.classes));
  if (options.mode === 'certified' && result.differences > 0)
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${file}: expected the full head's ids of certified, found ${result.differences} others`,
    );
}

async function statesFor(file: string, model: NativeModel, options: HeadOptions): Promise<StateClass[]> {
  if (options.hidden !== undefined)
    return [
      { name: 'file', hidden: await readHidden(options.hidden, model.info.embedDim), sampling: greedy },
    ];
  const ids =
    options.text === undefined ? null : (await readInput(file, model.info, { text: options.text })).ids;
  return makeStates(model, options.states, options.seed, ids);
}

/** The only f32 [n, embedDim] tensor of a safetensors file. */
async function readHidden(path: string, embedDim: number): Promise<Float32Array> {
  const tensors = [...(await readTensors(path))];
  const fitting = tensors.filter(([, { shape }]) => shape.length === 2 && shape[1] === embedDim);
  const [found] = fitting;
  const values = found?.[1].values;
  if (found === undefined || fitting.length > 1 || !(values instanceof Float32Array)) {
    const list = tensors.map(([name, { shape }]) => `${name} [${shape.join(', ')}]`).join(', ');
    throw new SpikedError(
      'ERR_CHECKPOINT_TENSOR',
      `${path}: expected one f32 tensor of shape [n, ${embedDim}], found ${list || 'none'}`,
    );
  }
  const [name] = found;
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (values.length === 0 || wrong >= 0)
    throw new SpikedError(
      'ERR_CHECKPOINT_TENSOR',
      values.length === 0
        ? `${path}: tensor "${name}": expected at least one row, found none`
        : `${path}: tensor "${name}": expected finite values, found ${String(values[wrong])} in row ${Math.floor(wrong / embedDim)}`,
    );
  return values;
}

function totals(classes: readonly HeadComparison[]) {
  const sum = (pick: (c: HeadComparison) => number) => classes.reduce((total, c) => total + pick(c), 0);
  const steps = sum((c) => c.steps);
  return {
    steps,
    differences: sum((c) => c.differences),
    proved: sum((c) => c.proved),
    fell_back: sum((c) => c.fell_back),
    bytes_share: sum((c) => c.steps * c.bytes_mean) / sum((c) => c.steps * c.full_bytes_mean),
  };
}

function shown(classes: readonly HeadComparison[]): string {
  const header = ['states', 'steps', 'different', 'proved', 'fell back', 'survivors', 'p90', 'bytes', 'time'];
  const rows = classes.map((c) => [
    c.name,
    String(c.steps),
    String(c.differences),
    String(c.proved),
    String(c.fell_back),
    String(c.survivors.median),
    String(c.survivors.p90),
    `${(c.bytes_mean / c.full_bytes_mean).toFixed(2)} of full's`,
    `${(c.ns.median / c.full_ns.median).toFixed(2)} of full's`,
  ]);
  return table([header, ...rows], ['left', ...Array<'right'>(8).fill('right')]);
}
