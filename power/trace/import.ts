import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import type { MeterTraits, Sample, SampleFlag } from '../meters/meter.js';
import { guessDelimiter, splitRow } from './csv-row.js';
import type { Columns, Quantity } from './import-columns.js';
import { parseMoment, parseValue } from './import-values.js';
import { lineBatches } from './lines.js';
import { AscendingTimes } from './order.js';
import { LineFault } from './sample-line.js';
import { StepSeen } from './step-seen.js';
import { UnitCheckMeter, type UnitCheck } from './unit-check.js';
import { UpdatePeriodMeter, type UpdatePeriod } from './update-period.js';
import { createTrace } from './writer.js';

export interface ImportOptions {
  readonly columns: Columns;
  /** One character; guessed from the first line unless given. */
  readonly delimiter?: string;
  readonly decimalComma?: boolean;
  /** Lines before the titles, or before the first row where the columns have numbers. */
  readonly skip?: number;
  /** Puts rows into the order of their times, which needs them all in memory. */
  readonly sort?: boolean;
  /** `TIME=NS`: the file's TIME is NS of CLOCK_MONOTONIC. Without it times stay as they are. */
  readonly anchor?: string;
  /** W; the smallest difference in the file unless given. */
  readonly stepWatts?: number;
  readonly accuracy?: number;
  readonly rule?: MeterTraits['rule'];
  readonly current?: MeterTraits['current'];
  readonly simulated?: boolean;
}

export interface ImportResult {
  readonly samples: number;
  /** Rows that said the same as the one before. */
  readonly merged: number;
  /** Rows that were earlier than one before them; 0 without `sort`. */
  readonly moved: number;
  /** Rows without a usable power. */
  readonly unusable: number;
  readonly stepWatts: number;
  readonly period: UpdatePeriod;
  readonly units: UnitCheck;
}

interface Row {
  readonly sample: Sample;
  readonly line: number;
}

/**
 * Makes a trace of somebody else's CSV. Memory does not grow with the file, unless it is sorted. When anything is wrong no trace is left.
 *
 * @throws SpikedError ERR_TRACE_INVALID with file and line: a cell that is no number or time, a row too short, times that go back or
 *   contradict each other, no such column; and when watts do not fit volts times amps: a wrong unit
 * @throws SpikedError ERR_INVALID_ARGUMENT the folder holds a trace, or an option has no meaning
 */
export async function importCsv(path: string, dir: string, options: ImportOptions): Promise<ImportResult> {
  const file = await open(path, 'r');
  try {
    return await new Import(path, file, options).into(dir);
  } finally {
    await file.close();
  }
}

class Import {
  readonly #current: MeterTraits['current'];
  readonly #offsetNs: bigint;
  readonly #order = new AscendingTimes();
  readonly #step = new StepSeen();
  // Which of the profile's periods it could be is not known: nobody has one.
  readonly #period = new UpdatePeriodMeter({ updatePeriodNs: 1 });
  readonly #units: UnitCheckMeter;
  #samples = 0;
  #unusable = 0;
  #moved = 0;

  constructor(
    private readonly path: string,
    private readonly file: FileHandle,
    private readonly options: ImportOptions,
  ) {
    this.#current = options.current ?? 'alternating';
    this.#units = new UnitCheckMeter(this.#current);
    if (options.columns.watts === undefined && this.#current !== 'direct')
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        '--columns: expected watts=…, found none; volts times amps are watts of direct current only (--current dc)',
      );
    this.#offsetNs = options.anchor === undefined ? 0n : this.#parseAnchor(options.anchor);
  }

  #parseAnchor(text: string): bigint {
    const match = /^(.+)=(\d{1,19})$/.exec(text);
    try {
      if (match?.[1] === undefined || match[2] === undefined)
        throw new LineFault(`expected TIME=NS, found "${text}"`);
      const time = parseMoment(match[1], this.options.columns.time.scale, this.options.decimalComma ?? false);
      return BigInt(match[2]) - time;
    } catch (error) {
      if (error instanceof LineFault)
        throw new SpikedError('ERR_INVALID_ARGUMENT', `--anchor: ${error.message}`);
      throw error;
    }
  }

  async into(dir: string): Promise<ImportResult> {
    const { options } = this;
    const columns = Object.entries(options.columns).map(([name, { column, unit }]) => [
      name,
      `${column}:${unit}`,
    ]);
    const traits: MeterTraits = {
      resolutionWatts: options.stepWatts ?? 1,
      accuracy: options.accuracy ?? null,
      updatePeriodNs: 1e9,
      rule: options.rule ?? 'backward-rectangle',
      maxWatts: null,
      current: this.#current,
    };
    const trace = await createTrace(dir, {
      format: 'spiked-trace',
      version: 1,
      meter: {
        kind: 'import',
        profile: null,
        address: basename(this.path),
        maker: null,
        model: null,
        serial: null,
        firmware: null,
        simulated: options.simulated ?? false,
      },
      traits,
      anchor: null,
      imported: { file: basename(this.path), columns: Object.fromEntries(columns) as Record<string, string> },
    });
    try {
      for await (const rows of options.sort ? this.#sorted() : this.#rows()) {
        for (const row of rows) if (this.#take(row)) trace.sample(row.sample);
        await trace.drained();
      }
      const result = this.#result();
      await trace.describe({
        traits: { ...traits, resolutionWatts: result.stepWatts, updatePeriodNs: result.period.periodNs },
      });
      await trace.close();
      return result;
    } catch (error) {
      await trace.discard();
      throw error;
    }
  }

  /** Whether the row is a new sample. */
  #take({ sample, line }: Row): boolean {
    this.#at(line, () => {
      if (sample.tNs < 0n) throw new LineFault('expected a time of 0 or more; --anchor TIME=NS moves them');
    });
    if (!this.#at(line, () => this.#order.isNew(sample))) return false;
    this.#samples++;
    this.#period.add(sample);
    if (sample.watts === null || sample.flags.length > 0) this.#unusable++;
    else {
      this.#step.add(sample.watts);
      this.#units.add(sample);
    }
    return true;
  }

  #result(): ImportResult {
    const units = this.#units.result();
    if (this.#samples < 2) throw this.#fault(`expected at least 2 rows, found ${this.#samples}`);
    if (units.verdict === 'mismatch')
      throw this.#fault(
        `${units.text} Give the units of the columns (watts=COLUMN:mW), or leave volts and amps out.`,
      );
    const stepWatts = this.options.stepWatts ?? this.#step.watts;
    if (stepWatts === null)
      throw this.#fault('expected different powers to take the step from, found one; give it (--step-watts)');
    const { merged } = this.#order;
    const [samples, unusable, moved] = [this.#samples, this.#unusable, this.#moved];
    return { samples, merged, moved, unusable, stepWatts, period: this.#period.result(), units };
  }

  async *#sorted(): AsyncGenerator<Row[]> {
    const all: Row[] = [];
    let latest: bigint | null = null;
    for await (const rows of this.#rows())
      for (const row of rows) {
        if (latest !== null && row.sample.tNs < latest) this.#moved++;
        else latest = row.sample.tNs;
        all.push(row);
      }
    all.sort((a, b) =>
      a.sample.tNs < b.sample.tNs ? -1 : a.sample.tNs > b.sample.tNs ? 1 : a.line - b.line,
    );
    for (let i = 0; i < all.length; i += 4096) yield all.slice(i, i + 4096);
  }

  async *#rows(): AsyncGenerator<Row[]> {
    const { skip = 0 } = this.options;
    const { size } = await this.file.stat();
    let parse: ((text: string) => Sample) | undefined;
    let line = 0;
    for await (const batch of lineBatches(this.file, this.path, 0, size)) {
      const rows: Row[] = [];
      for (const raw of batch) {
        line++;
        const text = (line === 1 ? raw.replace(/^\ufeff/, '') : raw).replace(/\r$/, '');
        if (line <= skip || text.trim() === '') continue;
        if (parse === undefined) {
          const first = this.#at(line, () => this.#firstRow(text));
          ({ parse } = first);
          if (first.isTitle) continue;
        }
        const parser = parse;
        rows.push({ sample: this.#at(line, () => parser(text)), line });
      }
      yield rows;
    }
  }

  /** From the first row: the delimiter, which cell is which, and whether it holds titles. */
  #firstRow(text: string): { parse: (text: string) => Sample; isTitle: boolean } {
    const { columns, decimalComma = false } = this.options;
    const delimiter = this.options.delimiter ?? guessDelimiter(text, decimalComma);
    const titles = splitRow(text, delimiter);
    const wanted = Object.entries(columns) as [Quantity, Columns['time']][];
    const places = new Map(wanted.map(([name, { column }]) => [name, placeOf(name, column, titles)]));
    const byTitle = wanted.some(([, { column }]) => !/^\d+$/.test(column));
    // A first row with one bad cell is a bad row, not a title.
    const cell = (name: Quantity): string => titles[places.get(name) ?? -1] ?? '';
    const values = wanted.map(([name]) => name).filter((name) => name !== 'time');
    const isTitle =
      byTitle ||
      (!holds(() => parseMoment(cell('time'), columns.time.scale, decimalComma)) &&
        !values.some((name) => holds(() => parseValue(name, cell(name), decimalComma))));
    return { isTitle, parse: (row) => this.#sample(splitRow(row, delimiter), places) };
  }

  #sample(cells: readonly string[], places: ReadonlyMap<Quantity, number>): Sample {
    const { columns, decimalComma = false } = this.options;
    const cell = (name: Quantity): string | undefined => {
      const place = places.get(name);
      if (place === undefined) return undefined;
      const text = cells[place];
      if (text === undefined)
        throw new LineFault(`${name}: expected at least ${place + 1} fields, found ${cells.length}`);
      return text;
    };
    const value = (name: Quantity): number | null => {
      const text = cell(name);
      const found = text === undefined ? null : parseValue(name, text, decimalComma);
      // 10300 mW are 10.3 W: division by a power of ten rounds once, a product by 0.001 twice.
      const scale = columns[name]?.scale ?? 1;
      return found === null ? null : scale < 1 ? found / Math.round(1 / scale) : found * scale;
    };
    const [volts, amps] = [value('volts'), value('amps')];
    const computed = volts === null || amps === null ? null : volts * amps;
    const watts = columns.watts === undefined ? computed : value('watts');
    const flags: SampleFlag[] = [];
    if (watts === null) flags.push('no-value');
    else if (watts < 0 && this.#current === 'alternating') flags.push('negative');
    const tNs = parseMoment(cell('time') ?? '', columns.time.scale, decimalComma) + this.#offsetNs;
    return { tNs, watts, volts, amps, joules: value('joules'), flags };
  }

  #at<T>(line: number, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof LineFault)
        throw new SpikedError('ERR_TRACE_INVALID', `${this.path}:${line}: ${error.message}`);
      throw error;
    }
  }

  #fault(text: string): SpikedError {
    return new SpikedError('ERR_TRACE_INVALID', `${this.path}: ${text}`);
  }
}

/** A number is a place, also where a title, or a value of the first row, looks like it. */
function placeOf(name: string, column: string, titles: readonly string[]): number {
  const number = /^\d{1,4}$/.test(column) ? Number(column) : 0;
  if (number >= 1 && number <= titles.length) return number - 1;
  const found = titles.filter((title) => title === column).length;
  if (found === 1) return titles.indexOf(column);
  if (found > 1)
    throw new LineFault(`${name}: expected one column "${column}", found ${found}; give its number`);
  throw new LineFault(
    `${name}: expected a column "${column}", found ${titles.length}: ${titles.join(', ').slice(0, 200)}`,
  );
}

function holds(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
