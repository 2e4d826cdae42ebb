import { SpikedError } from '../../client/protocol/errors.js';
import type { Length } from './ours.js';

/** Arguments of bitnet.cpp's llama-batched-bench for one turn: 16 tokens to warm up, then a prompt, then tokens after it. */
export function rivalArguments(
  file: string,
  { threads, promptTokens, tokens, context }: Length,
  more: readonly string[],
): string[] {
  const n = String;
  return [
    ...['-m', file, '-ngl', '0', '-t', n(threads), '-tb', n(threads), '-c', n(context)],
    ...['-npp', n(promptTokens), '-ntg', n(tokens), '-npl', '1', '--output-format', 'jsonl', ...more],
  ];
}

/**
 * Tokens a second from what it printed.
 *
 * @throws SpikedError ERR_TOOL_FAILED without exactly one line of figures, or with one of another length than was asked for
 */
export function rivalRates(
  output: string,
  { promptTokens, tokens }: Length,
): { decode: number; prefill: number } {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  const [line] = lines;
  const found = (lines.length === 1 && line !== undefined ? JSON.parse(line) : {}) as Record<string, number>;
  const { pp, tg, speed_pp: prefill = 0, speed_tg: decode = 0 } = found;
  if (pp === promptTokens && tg === tokens && prefill > 0 && decode > 0) return { decode, prefill };
  throw new SpikedError(
    'ERR_TOOL_FAILED',
    `rival: expected one JSON line with pp ${promptTokens}, tg ${tokens}, speed_pp and speed_tg, found "${output.trim().slice(-300)}"`,
  );
}
