import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { MadePackage } from '../../package/make.js';
import { assert, root, run, tempDir, which } from '../tools/suite.js';

/** Packs with an addon that is built already. */
export async function pack(target: string, build: string, out = tempDir()): Promise<MadePackage> {
  const args = [
    join(root, 'dist/package/main.js'),
    '--target',
    target,
    '--build',
    join(root, build),
    '-o',
    out,
  ];
  const { code, stdout, stderr } = await run(process.execPath, args, { timeoutMs: 300_000 });
  assert.is(code, 0, stderr);
  return JSON.parse(stdout) as MadePackage;
}

/** Unpacks an archive; returns the package's folder. */
export async function unpack(archive: string, into = tempDir()): Promise<string> {
  const { code, stderr } = await run('tar', ['--extract', '--file', archive, '--directory', into]);
  assert.is(code, 0, stderr);
  return join(into, archive.replace(/^.*\//, '').replace(/\.tar\.gz$/, ''));
}

/** A PATH without compiler and cmake: Node, and what the launchers need. */
export function barePath(): string {
  const folder = join(tempDir(), 'bin');
  mkdirSync(folder);
  for (const program of ['sh', 'dirname', 'readlink'])
    symlinkSync(which(program) ?? '', join(folder, program));
  symlinkSync(process.execPath, join(folder, 'node'));
  return folder;
}
