import { chmod, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServiceFile } from './plan.js';
import { digest, fileState, readUnlessAbsent, type InstallRecord } from './record.js';

/** `kept`: somebody changed it, or it was never ours. */
export type FileAction = 'write' | 'replace' | 'same' | 'keep' | 'remove' | 'absent';

export interface FileStep {
  path: string;
  action: FileAction;
}

/** What becomes of each file of a new installation, and of files that only the one before had. */
export async function installSteps(
  files: readonly ServiceFile[],
  old: InstallRecord | undefined,
  { root, force }: { root: string; force: boolean },
): Promise<FileStep[]> {
  const steps: FileStep[] = [];
  for (const { path, text } of files) {
    const found = await readUnlessAbsent(join(root, path));
    const ours = found !== undefined && (force || digest(found) === old?.files[path]);
    if (found === text) steps.push({ path, action: 'same' });
    else if (found === undefined) steps.push({ path, action: 'write' });
    else steps.push({ path, action: ours ? 'replace' : 'keep' });
  }
  const names = new Set(files.map(({ path }) => path));
  const gone = Object.entries(old?.files ?? {}).filter(([path]) => !names.has(path));
  return [...steps, ...(await removalSteps(Object.fromEntries(gone), root))];
}

const suffix = '.new';

/** This version's of each file that stays as somebody made it, to be put beside; none where it is the very one that was changed. */
export async function filesBeside(
  files: readonly ServiceFile[],
  old: InstallRecord | undefined,
  options: { root: string; force: boolean },
): Promise<ServiceFile[]> {
  const steps = await installSteps(files, old, options);
  return files
    .filter(({ path, text }, i) => steps[i]?.action === 'keep' && old?.files[path] !== digest(text))
    .map(({ path, text }) => ({ path: `${path}${suffix}`, text }));
}

export async function removalSteps(files: InstallRecord['files'], root: string): Promise<FileStep[]> {
  const actions = { as_installed: 'remove', changed: 'keep', missing: 'absent' } as const;
  return Promise.all(
    Object.entries(files).map(async ([path, sha256]) => ({
      path,
      action: actions[await fileState(path, sha256, root)],
    })),
  );
}

export async function removeFiles(steps: readonly FileStep[], root: string): Promise<void> {
  for (const { path, action } of steps) if (action === 'remove') await rm(join(root, path));
}

/** Whole or not at all: whoever reads the file meanwhile sees the old one. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text, { flag: 'wx' });
    await chmod(draft, 0o644);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Makes a folder and those above it; returns the ones that were not there, outermost first, as paths under `root`. */
export async function makeFolders(path: string, root: string): Promise<string[]> {
  const first = await mkdir(join(root, path), { recursive: true, mode: 0o755 });
  const made: string[] = [];
  if (first === undefined) return made;
  for (let folder = path; join(root, folder).length >= first.length; folder = dirname(folder))
    made.unshift(folder);
  return made;
}

/** Innermost first; one that holds something else stays. */
export async function removeEmptyFolders(folders: readonly string[], root: string): Promise<void> {
  for (const folder of [...folders].reverse()) {
    try {
      await rmdir(join(root, folder));
    } catch (error) {
      if (!['ENOTEMPTY', 'ENOENT', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? ''))
        throw error;
    }
  }
}
