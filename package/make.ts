import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import { addonFile, contents, ownPackage } from './contents.js';
import { describeFile, manifestName, type Manifest, type ManifestFile, type Target } from './manifest.js';

export interface MakeOptions {
  /** The checkout, its TypeScript compiled. */
  root: string;
  target: Target;
  /** Folder of the addon's build. */
  build: string;
  /** Folder of the archive. */
  out: string;
}

export interface MadePackage {
  archive: string;
  size_bytes: number;
  sha256: string;
}

/** Writes the archive of a package: one folder, spiked-VERSION-TARGET, with everything that it needs but Node. */
export async function makePackage(options: MakeOptions): Promise<MadePackage> {
  const { root, target, out } = options;
  const name = `spiked-${ownPackage(root).version}-${target}`;
  await mkdir(out, { recursive: true });
  const staging = await mkdtemp(join(out, 'staging-'));
  try {
    const folder = join(staging, name);
    await place(folder, options);
    const archive = `${name}.tar.gz`;
    run('tar', ['--directory', staging, ...tarOptions(root), '--file', join(out, archive), name]);
    const { size_bytes, sha256 } = await describeFile(out, archive);
    return { archive: join(out, archive), size_bytes, sha256 };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function place(folder: string, { root, target, build }: MakeOptions): Promise<void> {
  const placed = contents(root, target);
  for (const { path, from, executable } of placed) {
    const to = join(folder, path);
    await mkdir(dirname(to), { recursive: true });
    if ('text' in from) await writeFile(to, from.text);
    else await copyFile(from.copy, to);
    await chmod(to, executable ? 0o755 : 0o644);
  }
  await placeAddon(folder, build, target);
  const files: ManifestFile[] = [];
  for (const path of [...placed.map(({ path }) => path), addonFile].sort())
    files.push(await describeFile(folder, path));
  const manifest: Manifest = {
    name: 'spiked',
    ...(await buildFacts(build)),
    modified: git(root, 'status', '--porcelain') !== '',
    target,
    node: ownPackage(root).engines.node,
    files,
  };
  await writeFile(join(folder, manifestName), `${JSON.stringify(manifest, null, 1)}\n`);
}

/** Without symbols and without the build's own number, which changes with the folder that it was built in. */
async function placeAddon(folder: string, build: string, target: Target): Promise<void> {
  const to = join(folder, addonFile);
  await mkdir(dirname(to), { recursive: true });
  const crossing = target !== `linux-${process.arch}`;
  const strip = crossing ? 'aarch64-linux-gnu-strip' : 'strip';
  const from = join(build, 'Release', 'spiked.node');
  run(strip, ['--strip-unneeded', '--remove-section=.note.gnu.build-id', '-o', to, from]);
  await chmod(to, 0o644);
}

/** As CMake wrote them: this machine may not be able to load the addon and ask. */
async function buildFacts(
  build: string,
): Promise<Pick<Manifest, 'version' | 'commit' | 'compiler' | 'isas'>> {
  const text = await readFile(join(build, 'spiked-build.json'), 'utf8');
  return JSON.parse(text) as Pick<Manifest, 'version' | 'commit' | 'compiler' | 'isas'>;
}

/** One order, one owner, one time (the commit's): the same files are the same archive. */
function tarOptions(root: string): string[] {
  return [
    ...['--create', '--use-compress-program', 'gzip -9n', '--format', 'gnu', '--sort', 'name'],
    ...[
      '--mtime',
      `@${git(root, 'log', '-1', '--format=%ct') ?? '0'}`,
      '--owner',
      'root:0',
      '--group',
      'root:0',
      '--numeric-owner',
    ],
    '--mode=u+rwX,go+rX,go-w',
  ];
}

/** Undefined outside a checkout. */
function git(root: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status === 0) return stdout;
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    throw new SpikedError('ERR_TOOL_MISSING', `${command}: expected the program, found none`);
  throw new SpikedError('ERR_INTERNAL', `${command} ${args.join(' ')}: ${stderr.trim()}`);
}
