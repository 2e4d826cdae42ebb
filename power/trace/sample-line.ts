import { sampleFlags, type Frame, type Sample, type SampleFlag } from '../meters/meter.js';

export const samplesName = 'samples.csv';
export const framesName = 'frames.csv';
export const samplesTitle = 't_ns,watts,volts,amps,joules,flags';
export const framesTitle = 't_ns,direction,hex,fault';

const known = new Set<string>(sampleFlags);
const faults = new Set(['checksum', 'unchecked', 'torn', 'late', 'unexpected', 'exception', 'noise']);
const number = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/;
const time = /^\d{1,19}$/;

const cell = (value: number | null): string => (value === null ? '' : String(value));

/** A sample as its line of `samples.csv`. Numbers are written so that reading gives the same bits. */
export function sampleLine({ tNs, watts, volts, amps, joules, flags }: Sample): string {
  return `${tNs},${cell(watts)},${cell(volts)},${cell(amps)},${cell(joules)},${flags.join('|')}\n`;
}

export function frameLine({ tNs, direction, bytes, fault }: Frame): string {
  return `${tNs},${direction},${Buffer.from(bytes).toString('hex')},${fault ?? ''}\n`;
}

/** What a line lacks, as one sentence; whoever knows file and line adds them. */
export class LineFault extends Error {}

/** @throws LineFault what was expected and found */
export function parseSample(line: string): Sample {
  const cells = line.split(',');
  const [tNs, watts, volts, amps, joules, flags] = cells;
  if (cells.length !== 6 || tNs === undefined || flags === undefined)
    throw new LineFault(`expected 6 fields (${samplesTitle}), found ${cells.length}`);
  return {
    tNs: parseTime(tNs),
    watts: parseNumber('watts', watts),
    volts: parseNumber('volts', volts),
    amps: parseNumber('amps', amps),
    joules: parseNumber('joules', joules),
    flags: flags === '' ? none : parseFlags(flags),
  };
}

/** @throws LineFault what was expected and found */
export function parseFrame(line: string): Frame {
  const cells = line.split(',');
  const [tNs, direction, hex, fault] = cells;
  if (cells.length !== 4 || tNs === undefined || hex === undefined)
    throw new LineFault(`expected 4 fields (${framesTitle}), found ${cells.length}`);
  if (direction !== 'received' && direction !== 'sent')
    throw new LineFault(`direction: expected received or sent, found "${direction ?? ''}"`);
  if (!/^(?:[0-9a-f]{2})*$/.test(hex))
    throw new LineFault(`hex: expected pairs of digits, found "${hex.slice(0, 40)}"`);
  if (fault !== undefined && fault !== '' && !faults.has(fault))
    throw new LineFault(`fault: expected ${[...faults].join(', ')} or nothing, found "${fault}"`);
  return {
    tNs: parseTime(tNs),
    direction,
    bytes: Buffer.from(hex, 'hex'),
    ...(fault === '' ? {} : { fault: fault as NonNullable<Frame['fault']> }),
  };
}

const none: readonly SampleFlag[] = [];

export function parseTime(text: string): bigint {
  if (!time.test(text)) throw new LineFault(`t_ns: expected nanoseconds, found "${text.slice(0, 40)}"`);
  return BigInt(text);
}

function parseNumber(name: string, text = ''): number | null {
  if (text === '') return null;
  const value = number.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value))
    throw new LineFault(`${name}: expected a number or nothing, found "${text.slice(0, 40)}"`);
  return value;
}

function parseFlags(text: string): readonly SampleFlag[] {
  const flags = text.split('|');
  const unknown = flags.find((flag) => !known.has(flag));
  if (unknown !== undefined)
    throw new LineFault(`flags: expected ${sampleFlags.join(', ')}, found "${unknown.slice(0, 40)}"`);
  return flags as SampleFlag[];
}
