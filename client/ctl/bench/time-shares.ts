import type { NativeModel, NativeSession } from '../../../native/host/index.js';
import { decodeRound, prefillRound } from './rounds.js';

/** What time goes to: shares of all of it that add up to 1. */
export type TimeShares = Record<string, number>;

/** Of the decode of some tokens, the short prompt before them left out. In a round of its own: being watched costs time. */
export function decodeTimeShares(
  session: NativeSession,
  model: NativeModel,
  tokens: number,
): Promise<TimeShares> {
  return watched(session, (begin) => decodeRound(session, model, tokens, begin));
}

/** Of a prefill, its first token included. */
export function prefillTimeShares(
  session: NativeSession,
  model: NativeModel,
  tokens: number,
): Promise<TimeShares> {
  return watched(session, async (begin) => {
    begin();
    await prefillRound(session, model, tokens);
  });
}

async function watched(
  session: NativeSession,
  work: (begin: () => void) => Promise<unknown>,
): Promise<TimeShares> {
  session.profile(true);
  try {
    let began = 0n;
    await work(() => {
      session.profileNs();
      began = process.hrtime.bigint();
    });
    return sharesOf(session.profileNs(), Number(process.hrtime.bigint() - began));
  } finally {
    session.profile(false);
  }
}

/** Nanoseconds by operation as shares of all; `calls` is what lies between them: the call itself, and JavaScript. */
export function sharesOf(ns: Readonly<Record<string, number>>, totalNs: number): TimeShares {
  const watchedNs = Object.values(ns).reduce((sum, part) => sum + part, 0);
  const all = Math.max(totalNs, watchedNs);
  if (all === 0) return {};
  const shares = Object.entries(ns).map(([operation, part]) => [operation, part / all] as const);
  return { ...Object.fromEntries(shares), calls: (all - watchedNs) / all };
}
