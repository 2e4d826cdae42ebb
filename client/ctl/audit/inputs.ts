import { readFile } from 'node:fs/promises';
import { openModelTokenizer } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { parseIds } from '../eval/input.js';

/** Ids of one audit, by where they came from. */
export interface AuditInput {
  name: string;
  ids: Int32Array;
}

/** Positions that one audit computes at most: it holds every spike, margin and logit of them in memory. */
const mostIds = 4096;

// About 60 ids with a small English tokenizer: the length at which others have reported unexplained errors.
const builtInText =
  'The house stood upon a rising ground, and from its windows one could see the road, the river and the little ' +
  'church beyond. Her sister had not expected to find so many people in the room, and was very glad when they were gone.';

/**
 * The ids to audit: those in a file, or of a text (BOS first, where the tokenizer has one), or of a built-in text.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_INVALID_ARGUMENT, ERR_TOKENIZER_MISSING
 */
export async function auditInput(model: string, from: { ids?: string; text?: string }): Promise<AuditInput> {
  if (from.ids !== undefined)
    return limited({ name: from.ids, ids: parseIds(from.ids, await readFile(from.ids, 'utf8')) });
  const name = from.text ?? 'built-in text';
  const text = from.text === undefined ? builtInText : await readFile(from.text, 'utf8');
  if (text === '') throw new SpikedError('ERR_PROMPT_EMPTY', `${name}: expected a text, found an empty file`);
  return limited({ name, ids: await encode(model, text) });
}

async function encode(model: string, text: string): Promise<Int32Array> {
  const tokenizer = await openModelTokenizer(model);
  if (!tokenizer)
    throw new SpikedError(
      'ERR_TOKENIZER_MISSING',
      `${model}: expected a tokenizer inside for a text, found none: give --ids or --golden`,
    );
  try {
    const { bosId } = tokenizer.pieces;
    return Int32Array.from([...(bosId === undefined ? [] : [bosId]), ...(await tokenizer.encode(text))]);
  } finally {
    await tokenizer.close();
  }
}

function limited(input: AuditInput): AuditInput {
  const { length } = input.ids;
  if (length > 0 && length <= mostIds) return input;
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${input.name}: expected 1 to ${mostIds} token ids, found ${length}`,
  );
}
