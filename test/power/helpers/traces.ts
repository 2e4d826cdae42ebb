import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sample } from '../../../power/meters/meter.js';
import { readClocks } from '../../../power/trace/clocks.js';
import type { TraceHeader } from '../../../power/trace/header.js';
import { SpikedError } from '../../../client/protocol/errors.js';
import { assert } from '../../tools/suite.js';

export function header(change: Partial<TraceHeader> = {}): TraceHeader {
  return {
    format: 'spiked-trace',
    version: 1,
    meter: {
      kind: 'pzem',
      profile: 'pzem-004t',
      address: 'pzem:/dev/ttyUSB0?slave=1',
      maker: null,
      model: 'PZEM-004T',
      serial: null,
      firmware: null,
      simulated: true,
    },
    traits: {
      resolutionWatts: 0.1,
      accuracy: 0.005,
      updatePeriodNs: 1e9,
      rule: 'backward-rectangle',
      maxWatts: 2300,
      current: 'alternating',
    },
    anchor: readClocks(),
    ...change,
  };
}

export function sample(tNs: bigint, watts: number | null, change: Partial<Sample> = {}): Sample {
  return { tNs, watts, volts: null, amps: null, joules: null, flags: [], ...change };
}

export async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

/** Asserts that the work fails with this code and text; returns the message. */
export async function fails(work: () => Promise<unknown>, code: string, text: RegExp): Promise<string> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof SpikedError, String(error));
    assert.is(error.code, code, error.message);
    assert.match(error.message, text);
    return error.message;
  }
  throw new Error(`expected ${code}, found no error`);
}

export const samplesOf = (dir: string): string => readFileSync(join(dir, 'samples.csv'), 'latin1');
export const replaceSamples = (dir: string, text: string): void => {
  writeFileSync(join(dir, 'samples.csv'), text);
};
export const appendSamples = (dir: string, text: string): void => {
  appendFileSync(join(dir, 'samples.csv'), text);
};
