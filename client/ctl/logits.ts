import { createHash } from 'node:crypto';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { Command } from 'commander';
import { addon, describeModel, digestModel } from '../../native/host/index.js';
import type { NativeEngine, NativeModel } from '../../native/host/index.js';
import { writeCapture } from './compare/capture.js';
import { useModel, withActivations, withEngine, type EngineOptions } from './engine.js';
import { usage } from './exit.js';
import { tokenIds, integer } from './options.js';
import { printLine, table } from './output.js';
import { topIndices } from './golden/compare.js';
import { finishOnInterrupt } from './signals.js';

interface LogitsOptions extends EngineOptions {
  ids: number[];
  batch: number;
  sha256?: true;
  output?: string;
  capture?: string;
}

export function logitsCommand(): Command {
  const command = new Command('logits')
    .description(
      'compute the raw logits of every position: f32, row-major [positions, vocab_size], little-endian',
    )
    .argument('<model>', 'model file (GGUF)')
    .requiredOption('--ids <list>', 'token ids to feed, such as 1,2,3', tokenIds)
    .option('--batch <n>', 'positions fed at once; the bits do not depend on it', integer(1, 65536), 64)
    .option('--sha256', 'print the SHA-256 of those bytes')
    .option('-o, --output <file>', 'write those bytes to a file')
    .option('--capture <file>', 'write them with the ids and the digest of the model, for spikectl compare')
    .action(logits);
  return withActivations(withEngine(command));
}

async function logits(path: string, options: LogitsOptions): Promise<void> {
  const outputs = [options.sha256 && '--sha256', options.output && '-o', options.capture && '--capture'];
  const given = outputs.filter((name) => name !== undefined);
  if (given.length > 1) throw usage(`expected --sha256, -o or --capture, found ${given.join(' and ')}`);
  await useModel(path, options, async (model, engine) => {
    if (options.output !== undefined) return writeLogits(model, options, options.output);
    if (options.capture !== undefined) return capture(path, model, engine, options, options.capture);
    const hash = createHash('sha256');
    let last: Float32Array = new Float32Array();
    for await (const rows of logitRows(model, options)) {
      hash.update(bytesOf(rows));
      last = rows.slice(-model.info.vocabSize);
    }
    if (options.sha256) return printLine(hash.digest('hex'));
    const best = topIndices(last, 5).map((id) => [String(id), (last[id] ?? NaN).toFixed(6)]);
    await printLine(
      [
        `${options.ids.length} positions x ${model.info.vocabSize} logits, ${engine.isa}, ${engine.threads} threads, SHA-256 ${hash.digest('hex')}`,
        table([['id', 'logit of the last position'], ...best], ['right', 'left']),
      ].join('\n'),
    );
  });
}

async function capture(
  path: string,
  model: NativeModel,
  engine: NativeEngine,
  options: LogitsOptions,
  output: string,
): Promise<void> {
  const { dataSha256 } = await digestModel(await describeModel(path));
  const { architecture, name, vocabSize } = model.info;
  const metadata = new Map([
    ['format', 'spiked logits 1'],
    ['model', name],
    ['architecture', architecture],
    ['model_sha256', dataSha256],
    ['activations', engine.activations],
    ['isa', engine.isa],
    ['numerics_version', String(addon().build().numericsVersion)],
  ]);
  const ids = Int32Array.from(options.ids);
  await finishOnInterrupt(() =>
    writeCapture(output, { ids, vocabSize, metadata }, logitRows(model, options)),
  );
}

async function writeLogits(model: NativeModel, options: LogitsOptions, output: string): Promise<void> {
  const there = await stat(output).catch(() => undefined);
  if (there !== undefined && !there.isFile()) return writeThrough(model, options, output);
  // A link keeps pointing where it did.
  const path = there === undefined ? output : await realpath(output);
  const partial = `${path}.${process.pid}.tmp`;
  const file = await open(partial, 'wx');
  try {
    for await (const rows of logitRows(model, options)) await file.writeFile(bytesOf(rows));
    await file.close();
    await rename(partial, path);
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

/** A device, pipe or terminal is written to, never replaced. */
async function writeThrough(model: NativeModel, options: LogitsOptions, output: string): Promise<void> {
  const file = await open(output, 'w');
  try {
    for await (const rows of logitRows(model, options)) await file.writeFile(bytesOf(rows));
  } finally {
    await file.close();
  }
}

async function* logitRows(model: NativeModel, options: LogitsOptions): AsyncGenerator<Float32Array> {
  const session = model.openSession();
  try {
    for (let from = 0; from < options.ids.length; from += options.batch) {
      const ids = Int32Array.from(options.ids.slice(from, from + options.batch));
      const { logits } = await session.forward(ids, { logits: 'all' });
      if (logits !== null) yield logits;
    }
  } finally {
    session.close();
  }
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
