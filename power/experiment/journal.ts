import { open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import { describeIssue } from './issue.js';
import { entrySchema } from './journal-schema.js';
import type { JournalEntry } from './record.js';

export const journalFile = 'journal.jsonl';

/** One entry a line; a line is on the disk before `add` returns. */
export class Journal {
  private constructor(
    private readonly file: FileHandle,
    private readonly path: string,
  ) {}

  /** Opens or begins the journal of a folder. A last line that a power cut tore is cut off. */
  static async open(folder: string): Promise<Journal> {
    const path = join(folder, journalFile);
    const file = await open(path, 'a+', 0o644);
    try {
      const text = await file.readFile();
      const whole = text.lastIndexOf(0x0a) + 1;
      if (whole < text.length) await file.truncate(whole);
      await syncFolder(folder);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new Journal(file, path);
  }

  /** @throws SpikedError ERR_FILE_IO */
  async add(entry: JournalEntry): Promise<void> {
    try {
      await this.file.appendFile(`${JSON.stringify(entry)}\n`);
      await this.file.datasync();
    } catch (error) {
      throw writeFailed(this.path, error);
    }
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/**
 * Every entry of a folder's journal, in order. A torn last line, which a power cut leaves, is dropped.
 *
 * @throws SpikedError ERR_EXPERIMENT_INVALID with file and line
 */
export async function readJournal(folder: string): Promise<JournalEntry[]> {
  const path = join(folder, journalFile);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new SpikedError(
      'ERR_EXPERIMENT_INVALID',
      `${path}: expected the journal of an experiment, found ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : String(error)}`,
    );
  });
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  return lines.map((line, i) => {
    const raw = parse(line);
    const parsed = entrySchema.safeParse(raw);
    if (parsed.success) return parsed.data;
    const what = raw === undefined ? 'expected JSON, found another text' : describeIssue(parsed.error, raw);
    throw new SpikedError('ERR_EXPERIMENT_INVALID', `${path}: line ${i + 1}: ${what}`);
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** A new name in a folder survives a power cut only when the folder was synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a file that is whole or absent after a power cut, as far as its reader sees it once it was named in the journal. */
export async function writeSynced(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, 'w', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw writeFailed(path, error);
  }
}

const causes: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file may not grow further',
  EROFS: 'the file system is read-only',
};

export function writeFailed(path: string, error: unknown): SpikedError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new SpikedError(
    'ERR_FILE_IO',
    `${path}: expected room to write, found: ${causes[code] ?? message}`,
    {
      cause: error,
    },
  );
}
