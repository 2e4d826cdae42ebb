import { readFileSync } from 'node:fs';
import { SpikedError } from '../../client/protocol/errors.js';

const machines = { x64: 62, arm64: 183 } as const;

/**
 * Holds a built file to the machine it was asked for: a build folder with another machine's cache gives the wrong one silently.
 *
 * @throws SpikedError ERR_CHECK_FAILED
 */
export function checkMachine(path: string, arch: keyof typeof machines): void {
  const found = readFileSync(path).readUInt16LE(18); // e_machine
  if (found === machines[arch]) return;
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `${path}: expected a file for ${arch} (ELF machine ${String(machines[arch])}), found machine ${String(found)}`,
  );
}
