import type { SpikedError } from '../../client/protocol/index.js';
import type { Connection } from './connection.js';

/** Characters of a text that a line keeps: the journal cuts lines at 48 KiB. */
const keptText = 4096;

export interface Ended {
  method: string;
  params: unknown;
  beganNs: bigint;
  outcome: { result: unknown } | { error: SpikedError };
}

/** One line a request, whatever it was. Without its texts, unless they were asked for. */
export function logRequest({ log }: Connection, ended: Ended, withText: boolean): void {
  if (!log.isLevelEnabled('info')) return;
  const { method, params, beganNs, outcome } = ended;
  const ms = round(Number(process.hrtime.bigint() - beganNs) / 1e6);
  const result = 'result' in outcome ? fieldsOf(outcome.result) : {};
  const reason = result['stop_reason'];
  const end = 'error' in outcome ? outcome.error.code : reason === 'cancelled' ? reason : 'ok';
  log.info(
    { method, outcome: end, ms, ...counts(result), ...(withText ? texts(fieldsOf(params), result) : {}) },
    'request',
  );
}

function counts(result: Record<string, unknown>): object {
  const queuedNs = fieldsOf(result['timings'])['queued_ns'];
  return {
    prompt_tokens: result['prompt_tokens'],
    cached_tokens: result['cached_tokens'],
    generated_tokens: result['generated_tokens'],
    queued_ms: typeof queuedNs === 'number' ? round(queuedNs / 1e6) : undefined,
    stop_reason: result['stop_reason'],
  };
}

function texts(params: Record<string, unknown>, result: Record<string, unknown>): object {
  return { input: clip(params['prompt'] ?? params['text']), output: clip(result['text']) };
}

function clip(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  return text.length > keptText ? `${text.slice(0, keptText)}…` : text;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Milliseconds with three decimals. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
