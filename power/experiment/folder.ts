import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import { journalFile, readJournal, syncFolder, writeFailed, writeSynced } from './journal.js';
import type { Plan } from './plan.js';
import { planDifference, planSha256, planText } from './read-plan.js';
import type { JournalEntry } from './record.js';

export const planFile = 'plan.json';

/** What earlier starts of an experiment left. */
export interface Past {
  /** Starts so far. */
  readonly parts: number;
  /** Tokens of every run and the arms' speeds, where a pilot fixed them. */
  readonly pilot: {
    readonly tokens: number;
    readonly tokensPerSecond: Readonly<Record<string, number>>;
  } | null;
  readonly done: ReadonlySet<number>;
  /** By block: how often it was begun. */
  readonly attempts: ReadonlyMap<number, number>;
  /** By arm: SHA-256 of the ids that it gave. */
  readonly ids: ReadonlyMap<string, string>;
  readonly complete: boolean;
}

export const noPast: Past = {
  parts: 0,
  pilot: null,
  done: new Set(),
  attempts: new Map(),
  ids: new Map(),
  complete: false,
};

export function pastOf(entries: readonly JournalEntry[]): Past {
  const done = new Set<number>();
  const attempts = new Map<number, number>();
  const ids = new Map<string, string>();
  let [parts, complete]: [number, boolean] = [0, false];
  let pilot: Past['pilot'] = null;
  for (const entry of entries) {
    if (entry.kind === 'part') parts = entry.part;
    else if (entry.kind === 'pilot') {
      pilot = { tokens: entry.tokens, tokensPerSecond: entry.tokens_per_second };
      // Of another count of tokens.
      ids.clear();
    } else if (entry.kind === 'block' && entry.done) done.add(entry.block);
    else if (entry.kind === 'end') complete = entry.how === 'complete';
    else if (entry.kind === 'run') {
      if (entry.slot === 0) attempts.set(entry.block, (attempts.get(entry.block) ?? 0) + 1);
      if (entry.reasons.length === 0) ids.set(entry.arm, entry.ids_sha256);
    }
  }
  return { parts, pilot, done, attempts, ids, complete };
}

/**
 * What the folder of an experiment holds, before anything is started.
 *
 * @param resume  go on with the experiment that is there
 * @throws SpikedError ERR_EXPERIMENT_INVALID it holds something else: another plan, no experiment, or one although `resume` is not asked for
 */
export async function readFolder(folder: string, plan: Plan, resume: boolean): Promise<Past> {
  const names: string[] = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  const invalid = (what: string) => new SpikedError('ERR_EXPERIMENT_INVALID', `${folder}: ${what}`);
  if (!resume) {
    if (names.length === 0) return noPast;
    const has = names.includes(planFile)
      ? 'an experiment: --resume goes on with it'
      : `${names.length} files`;
    throw invalid(`expected an empty folder or none, found ${has}`);
  }
  if (!names.includes(planFile)) throw invalid(`expected an experiment to go on with, found no ${planFile}`);
  const text = await readFile(join(folder, planFile), 'utf8');
  if (text !== planText(plan)) {
    const difference = planDifference(parse(text), plan) ?? 'another text';
    throw new SpikedError(
      'ERR_EXPERIMENT_INVALID',
      `${join(folder, planFile)}: expected the same plan (SHA-256 ${planSha256(plan).slice(0, 12)}…) to go on with, found a difference in ${difference}`,
    );
  }
  // Killed before its first line: nothing was measured.
  return names.includes(journalFile) ? pastOf(await readJournal(folder)) : noPast;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Where a part's trace goes. What a killed program left there before it told the journal is removed: nothing refers to it. */
export async function makePart(folder: string, plan: Plan, part: number): Promise<string> {
  try {
    await mkdir(folder, { recursive: true });
    if (part === 1) await writeSynced(join(folder, planFile), planText(plan));
    const path = join(folder, 'parts', String(part).padStart(3, '0'));
    await rm(path, { recursive: true, force: true });
    await mkdir(path, { recursive: true });
    await syncFolder(folder);
    return join(path, 'trace');
  } catch (error) {
    if (error instanceof SpikedError) throw error;
    throw writeFailed(folder, error);
  }
}
