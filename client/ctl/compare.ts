import { Command } from 'commander';
import { SpikedError } from '../protocol/errors.js';
import { Capture } from './compare/capture.js';
import { compareCaptures, type CaptureDifference, type FirstDifference } from './compare/difference.js';
import { printJson, printLine, table } from './output.js';

interface CompareOptions {
  anyModel?: true;
  json?: true;
}

export function compareCommand(): Command {
  return new Command('compare')
    .description(
      'compare two captures of logits: the same bits, or the first that differ and how far they are',
    )
    .argument('<a>', 'file of spikectl logits --capture; the reference')
    .argument('<b>', 'another of the same ids')
    .option('--any-model', 'compare logits of different models, too')
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
Exit status 0 when every bit is the same, 3 when one differs, 1 when ids, vocabulary or model are not the same. NMSE is the squared error over the
squares of A. Captures are safetensors files (ids: I32 [n], logits: F32 [n, vocab_size]), so another program's can be compared as well.`,
    )
    .action(compare);
}

async function compare(pathA: string, pathB: string, options: CompareOptions): Promise<void> {
  const found = await withCaptures(pathA, pathB, (a, b) => compareCaptures(a, b, options.anyModel === true));
  if (options.json) await printJson(toMachine(pathA, pathB, found));
  else await printLine(toPeople(found));
  if (found.first !== undefined)
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${pathB}: expected the bits of ${pathA}, found ${found.nDifferent} values that differ, the first at ${place(found.first)}`,
    );
}

async function withCaptures<T>(
  pathA: string,
  pathB: string,
  use: (a: Capture, b: Capture) => Promise<T>,
): Promise<T> {
  const a = await Capture.open(pathA);
  try {
    const b = await Capture.open(pathB);
    try {
      return await use(a, b);
    } finally {
      await b.close();
    }
  } finally {
    await a.close();
  }
}

function toMachine(a: string, b: string, found: CaptureDifference): object {
  const { first } = found;
  return {
    a,
    b,
    equal: first === undefined,
    positions: found.positions,
    vocab_size: found.vocabSize,
    different: found.nDifferent,
    first:
      first === undefined
        ? null
        : {
            position: first.position,
            id: first.id,
            a: finite(first.a),
            b: finite(first.b),
            a_bits: first.aBits,
            b_bits: first.bBits,
          },
    not_finite: found.nNotFinite,
    max_abs: found.maxAbs,
    mean_abs: found.meanAbs,
    nmse: finite(found.nmse),
    top1_agreement: found.positions === 0 ? null : found.sameTop1 / found.positions,
  };
}

/** JSON has no other numbers; the bits beside it say which one it is, or `not_finite` why there is none. */
function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function toPeople(found: CaptureDifference): string {
  const { first, positions, vocabSize, nDifferent, nNotFinite } = found;
  const same = `${found.sameTop1} of ${positions} positions`;
  if (first === undefined)
    return `the same bits: ${positions} positions x ${vocabSize} logits, largest logit at the same id in ${same}`;
  return table([
    ['different', `${nDifferent} of ${positions * vocabSize} values`],
    ['first', `${place(first)}: ${first.a} (${first.aBits}) and ${first.b} (${first.bBits})`],
    ['largest error', found.maxAbs.toExponential(3)],
    ['mean error', found.meanAbs.toExponential(3)],
    ['NMSE', found.nmse.toExponential(3)],
    ['largest logit', `at the same id in ${same}`],
    ...(nNotFinite > 0 ? [['not finite', `${nNotFinite} values, left out of the errors`]] : []),
  ]);
}

function place({ position, id }: FirstDifference): string {
  return `position ${position}, id ${id}`;
}
