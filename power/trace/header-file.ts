import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { SpikedError } from '../../client/protocol/errors.js';
import type { Clocks, TraceHeader } from './header.js';

export const headerName = 'trace.json';

/** JSON's numbers are too short for nanoseconds. */
const ns = z.string().regex(/^\d{1,19}$/);
const text = z.string().nullable();
const clocks = z.strictObject({ monotonic_ns: ns, boottime_ns: ns, wall: z.iso.datetime() });

const headerSchema = z.strictObject({
  format: z.literal('spiked-trace'),
  version: z.literal(1),
  meter: z.strictObject({
    kind: z.string(),
    profile: text,
    address: z.string(),
    maker: text,
    model: text,
    serial: text,
    firmware: text,
    simulated: z.boolean(),
  }),
  traits: z.strictObject({
    resolution_watts: z.number().positive(),
    accuracy: z.number().nonnegative().nullable(),
    update_period_ns: z.number().positive(),
    rule: z.enum(['backward-rectangle', 'trapezoid']),
    max_watts: z.number().positive().nullable(),
    current: z.enum(['alternating', 'direct']),
    pushes: z.boolean().optional(),
  }),
  anchor: clocks.nullable(),
  end: clocks.optional(),
  imported: z.strictObject({ file: z.string(), columns: z.record(z.string(), z.string()) }).optional(),
});

/** The header as the JSON text of `trace.json`. */
export function encodeHeader(header: TraceHeader): string {
  const { traits } = header;
  const value: z.input<typeof headerSchema> = {
    format: header.format,
    version: header.version,
    meter: header.meter,
    traits: {
      resolution_watts: traits.resolutionWatts,
      accuracy: traits.accuracy,
      update_period_ns: traits.updatePeriodNs,
      rule: traits.rule,
      max_watts: traits.maxWatts,
      current: traits.current,
      ...(traits.pushes === undefined ? {} : { pushes: traits.pushes }),
    },
    anchor: header.anchor && encodeClocks(header.anchor),
    ...(header.end && { end: encodeClocks(header.end) }),
    ...(header.imported && { imported: header.imported }),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

const encodeClocks = ({ monotonicNs, boottimeNs, wall }: Clocks) => ({
  monotonic_ns: monotonicNs.toString(),
  boottime_ns: boottimeNs.toString(),
  wall,
});

const decodeClocks = (value: z.output<typeof clocks>): Clocks => ({
  monotonicNs: BigInt(value.monotonic_ns),
  boottimeNs: BigInt(value.boottime_ns),
  wall: value.wall,
});

/**
 * The header of the trace in a folder.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND the folder holds no trace; ERR_TRACE_INVALID it is another format, version or shape
 */
export async function readHeader(dir: string): Promise<TraceHeader> {
  return readHeaderSync(dir);
}

/** The same at once, for who needs it before it can wait: it is one small file. */
export function readHeaderSync(dir: string): TraceHeader {
  const path = join(dir, headerName);
  let found: string;
  try {
    found = readFileSync(path, 'utf8');
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? new SpikedError('ERR_FILE_NOT_FOUND', `${path}: expected the header of a trace, found no such file`)
      : error;
  }
  let value: unknown;
  try {
    value = JSON.parse(found);
  } catch {
    throw new SpikedError('ERR_TRACE_INVALID', `${path}: expected JSON, found "${found.slice(0, 40)}"`);
  }
  const parsed = headerSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new SpikedError(
      'ERR_TRACE_INVALID',
      `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a header'}`,
    );
  }
  const { traits, anchor, end, imported, ...rest } = parsed.data;
  return {
    ...rest,
    traits: {
      resolutionWatts: traits.resolution_watts,
      accuracy: traits.accuracy,
      updatePeriodNs: traits.update_period_ns,
      rule: traits.rule,
      maxWatts: traits.max_watts,
      current: traits.current,
      ...(traits.pushes === undefined ? {} : { pushes: traits.pushes }),
    },
    anchor: anchor && decodeClocks(anchor),
    ...(end && { end: decodeClocks(end) }),
    ...(imported && { imported }),
  };
}

/** Puts the header in place of the one before, whole or not at all: written beside it, synced, renamed, the folder synced. */
export async function writeHeader(dir: string, header: TraceHeader): Promise<void> {
  const path = join(dir, headerName);
  const draft = await open(`${path}.new`, 'w');
  try {
    await draft.writeFile(encodeHeader(header));
    await draft.sync();
  } finally {
    await draft.close();
  }
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
