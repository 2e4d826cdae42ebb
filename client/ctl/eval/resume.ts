import { open, readFile, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { SpikedError } from '../../protocol/errors.js';
import { noTotals, type Totals } from './perplexity.js';

/** What a finished window depends on; a file of other settings is refused. Threads and instruction set are not of it. */
export interface ResumeKey {
  format: 'spiked perplexity 1';
  model_sha256: string;
  ids_sha256: string;
  seq: number;
  stride: number;
  bos: boolean;
  activations: string;
}

const line = z.strictObject({
  windows: z.number().int().positive(),
  fed: z.number().int().positive(),
  scored: z.number().int().nonnegative(),
  nats: z.number(),
  masked_mass: z.number(),
});

/** A JSON Lines file: the key, then the totals after each window. Numbers survive JSON with all their bits. */
export class ResumeFile {
  private constructor(
    private readonly file: FileHandle,
    readonly totals: Totals,
  ) {}

  /**
   * Opens or begins the file. A last line that an interruption cut off is dropped.
   *
   * @throws SpikedError ERR_INVALID_ARGUMENT when the file is another run's, naming what differs, or no such file at all
   */
  static async open(path: string, key: ResumeKey): Promise<ResumeFile> {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const [first, ...lines] = whole.split('\n').slice(0, -1);
    if (first === undefined && text !== '' && !JSON.stringify(key).startsWith(text)) throw foreign(path);
    if (first !== undefined) requireSameKey(path, first, key);
    const totals = readTotals(path, lines);
    const file = await open(path, text === '' ? 'a' : 'r+');
    try {
      const keptBytes = Buffer.byteLength(whole);
      await file.truncate(keptBytes);
      if (first === undefined) await file.write(`${JSON.stringify(key)}\n`, 0);
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    return new ResumeFile(await open(path, 'a'), totals);
  }

  async add({ windows, fed, scored, nats, maskedMass }: Totals): Promise<void> {
    const kept = { windows, fed, scored, nats, masked_mass: maskedMass };
    await this.file.write(`${JSON.stringify(kept)}\n`);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

function requireSameKey(path: string, text: string, key: ResumeKey): void {
  const found = parse(path, 1, text);
  if (typeof found !== 'object' || found === null || !('format' in found)) throw foreign(path);
  for (const [name, expected] of Object.entries(key)) {
    const value = (found as Record<string, unknown>)[name];
    if (value !== expected)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${path}: --resume: ${name}: expected ${String(expected)} as in this run, found ${String(value)}`,
      );
  }
}

function readTotals(path: string, lines: string[]): Totals {
  let totals = noTotals;
  lines.forEach((text, i) => {
    const parsed = line.safeParse(parse(path, i + 2, text));
    if (!parsed.success || parsed.data.windows !== i + 1)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${path}: line ${i + 2}: expected the totals after window ${i + 1}, found "${text.slice(0, 60)}"`,
      );
    const { masked_mass: maskedMass, ...rest } = parsed.data;
    totals = { ...rest, maskedMass };
  });
  return totals;
}

function parse(path: string, number: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (number === 1) throw foreign(path);
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `${path}: line ${number}: expected JSON, found another text`,
    );
  }
}

function foreign(path: string): SpikedError {
  return new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${path}: --resume: expected a file that this command wrote, found another`,
  );
}
