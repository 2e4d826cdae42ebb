import { Buffer } from 'node:buffer';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { openModelTokenizer, openTokenizer, type Tokenizer } from '../../native/host/index.js';
import { SpikedError } from '../protocol/errors.js';
import { printLine } from './output.js';

export function tokensCommand(): Command {
  return new Command('tokens')
    .description('turn text into token ids and back, line by line from standard input')
    .argument('<file>', 'model file (GGUF) with a tokenizer inside, or a SentencePiece .model')
    .requiredOption(
      '--json-lines',
      'each line is a JSON string (answer: array of ids) or an array of ids (answer: string)',
    )
    .addHelpText(
      'after',
      `
Ids come without BOS. Answers keep the order of the lines. A bad line is answered with null, reported on standard
error with its number, and makes the exit status 1 at the end.`,
    )
    .action(tokens);
}

async function tokens(path: string): Promise<void> {
  const tokenizer = await openAny(path);
  let bad = 0;
  let number = 0;
  try {
    for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
      number++;
      const answer = await convert(tokenizer, line).catch((error: unknown) => {
        bad++;
        process.stderr.write(`spikectl: ${lineError(number, error)}\n`);
        return null;
      });
      await printLine(JSON.stringify(answer));
    }
  } finally {
    await tokenizer.close();
  }
  if (bad > 0) process.exitCode = 1;
}

async function convert(tokenizer: Tokenizer, line: string): Promise<number[] | string> {
  const value = parse(line);
  if (typeof value === 'string') return [...(await tokenizer.encode(value))];
  if (Array.isArray(value) && value.every(isId)) return tokenizer.decode(value);
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    'expected a JSON string or an array of ids, found another value',
  );
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new SpikedError('ERR_INVALID_ARGUMENT', `expected JSON, found ${(error as Error).message}`);
  }
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function lineError(number: number, error: unknown): string {
  const { code, message } =
    error instanceof SpikedError ? error : new SpikedError('ERR_INTERNAL', String(error));
  return `${code}: line ${number}: ${message.replace(/\s*\n\s*/g, ' ')}`;
}

/** The tokenizer that the file is, or the one inside a GGUF file. */
async function openAny(path: string): Promise<Tokenizer> {
  if (!(await isGguf(path))) return openTokenizer(await readFile(path));
  const tokenizer = await openModelTokenizer(path);
  if (tokenizer) return tokenizer;
  throw new SpikedError('ERR_TOKENIZER_MISSING', `${path}: expected a tokenizer inside, found none`);
}

async function isGguf(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return buffer.toString('latin1', 0, bytesRead) === 'GGUF';
}
