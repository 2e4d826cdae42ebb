/** Makes an installable package: `npm run package`. The same checkout gives the same bytes. Needs no network. */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SpikedError } from '../client/protocol/errors.js';
import { targets, type Target } from './manifest.js';
import { makePackage } from './make.js';

const root = resolve(import.meta.dirname, '..', '..');
const help = `Usage: npm run package -- [options]

Makes the installable package spiked-VERSION-TARGET.tar.gz, and says where it is, its size and SHA-256 as JSON.

Options:
  --target <target>  ${targets.join(' or ')} (default: this machine's)
  --build <dir>      folder that holds the built addon (default: it is built)
  -o, --out <dir>    folder for the package (default: build-package)
  -h, --help         show this
`;

function readTarget(text: string): Target {
  const target = targets.find((known) => known === text);
  if (target !== undefined) return target;
  throw new SpikedError('ERR_USAGE', `--target: expected ${targets.join(' or ')}, found ${text}`);
}

interface Options {
  target: Target;
  build: string | undefined;
  out: string;
}

/** Undefined: only help was asked for. */
function readOptions(): Options | undefined {
  const own = `linux-${process.arch}`;
  try {
    const { values } = parseArgs({
      options: {
        target: { type: 'string', default: own },
        build: { type: 'string' },
        out: { type: 'string', short: 'o', default: join(root, 'build-package') },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return undefined;
    const build = values.build === undefined ? undefined : resolve(values.build);
    return { target: readTarget(values.target), build, out: resolve(values.out) };
  } catch (error) {
    if (error instanceof SpikedError) throw error;
    throw new SpikedError('ERR_USAGE', error instanceof Error ? error.message : String(error));
  }
}

/** The folder of the addon, which knows how to build itself. */
function buildAddon(target: Target): string {
  const arch = target.slice('linux-'.length);
  const out = join(root, arch === process.arch ? 'build' : `build-${arch}`);
  const args = [join(root, 'dist/native/host/build.js'), '--arch', arch, '--out', out];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) throw new SpikedError('ERR_INTERNAL', `${target}: expected the addon, found none built`);
  return out;
}

try {
  const options = readOptions();
  if (options === undefined) process.stdout.write(help);
  else {
    const { target, build, out } = options;
    const made = await makePackage({ root, target, out, build: build ?? buildAddon(target) });
    process.stdout.write(`${JSON.stringify(made)}\n`);
  }
} catch (error) {
  if (!(error instanceof SpikedError)) throw error;
  process.stderr.write(`spiked package: ${error.code}: ${error.message}\n`);
  process.exitCode = error.code === 'ERR_USAGE' ? 2 : 1;
}
