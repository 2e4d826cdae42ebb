import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addon, addonPath } from '../../../native/host/index.js';
import { missing, run, tempDir } from '../../tools/suite.js';

/** A bare return. */
const returns: Partial<Record<NodeJS.Architecture, number[]>> = {
  x64: [0xc3],
  arm64: [0xc0, 0x03, 0x5f, 0xd6],
};
const isaOf: Partial<Record<NodeJS.Architecture, string>> = { x64: 'avx2', arm64: 'neon' };

/** The instruction set in which a kernel can be planted here. */
export const plantedIsa = isaOf[process.arch] ?? '';

/** Why none can be. */
export function noPlanting(): string | undefined {
  const supported = addon()
    .isas()
    .some(({ name, supported: has }) => has && name === plantedIsa);
  return missing('nm') ?? missing('readelf') ?? (supported ? undefined : 'needs AVX2 or NEON');
}

/** A copy of the addon in which one kernel does nothing; returns its path. */
export async function plantKernel(kernel: string): Promise<string> {
  const symbols = (await run('nm', ['-C', addonPath()])).stdout;
  const sections = (await run('readelf', ['-SW', addonPath()])).stdout;
  const address = new RegExp(`^([0-9a-f]+) t spiked::kernels::${plantedIsa}::${kernel}\\(`, 'm').exec(
    symbols,
  );
  const text = /\.text +PROGBITS +([0-9a-f]+) +([0-9a-f]+)/.exec(sections);
  const [at, base, offset] = [address?.[1], text?.[1], text?.[2]].map((hex) => parseInt(hex ?? '', 16));
  if (at === undefined || base === undefined || offset === undefined || Number.isNaN(at - base + offset))
    throw new Error(`${addonPath()}: expected the symbol of ${kernel} of ${plantedIsa}, found none`);
  const bytes = readFileSync(addonPath());
  bytes.set(returns[process.arch] ?? [], at - base + offset);
  const path = join(tempDir(), 'spiked.node');
  writeFileSync(path, bytes);
  return path;
}
