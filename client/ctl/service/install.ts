import { dirname, join, resolve } from 'node:path';
import { addon } from '../../../native/host/index.js';
import { filesBeside, installSteps, makeFolders, removeFiles, writeWhole, type FileStep } from './files.js';
import { remark } from '../output.js';
import { checkRights, scopeOf, type ChangeOptions } from './options.js';
import { places, type Places } from './places.js';
import { serviceFiles, type ServiceFile } from './plan.js';
import { readPrefix, type Prefix, type PrefixOptions } from './prefix.js';
import { digest, readRecord, type InstallRecord } from './record.js';
import { printReport } from './report.js';
import { afterInstall, runCommand, systemdRuns } from './systemd.js';

export type InstallOptions = ChangeOptions & PrefixOptions & { force?: true };

export async function install(options: InstallOptions): Promise<void> {
  checkRights(options);
  const scope = scopeOf(options);
  const where = places(scope);
  const root = resolve(options.root ?? '/');
  const prefix = await readPrefix(scope, options);
  const own = await serviceFiles(where, prefix);
  const old = await readRecord(where, root);
  const how = { root, force: options.force ?? false };
  const beside = await filesBeside(own, old, how);
  const files = [...own, ...beside];
  const steps = await installSteps(files, old, how);
  const runs = options.root === undefined && systemdRuns(scope);
  const commands = afterInstall(scope);
  const dryRun = options.dryRun ?? false;
  if (!dryRun) {
    await putInPlace({ where, root, prefix, files, steps, old });
    if (runs) commands.forEach(runCommand);
  }
  await printReport({ steps, commands, dryRun, runs }, options.json);
  if (beside.length > 0 && !dryRun) remark(keptText(beside));
}

function keptText(beside: readonly ServiceFile[]): string {
  const news = beside.map(({ path }) => path).join(', ');
  return `kept what somebody made or changed; this version's are beside it: ${news}: compare, move them over and run systemctl daemon-reload, or install with --force`;
}

interface Installation {
  where: Places;
  root: string;
  prefix: Prefix;
  files: readonly ServiceFile[];
  steps: readonly FileStep[];
  old: InstallRecord | undefined;
}

async function putInPlace({ where, root, prefix, files, steps, old }: Installation): Promise<void> {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const folders = new Set(old?.folders);
  const recorded: InstallRecord['files'] = {};
  for (const folder of await makeFolders(join(where.state, 'models'), root)) folders.add(folder);
  for (const { path, action } of steps) {
    const text = texts.get(path);
    const before = old?.files[path];
    if (action === 'write' || action === 'replace') {
      for (const folder of await makeFolders(dirname(path), root)) folders.add(folder);
      await writeWhole(join(root, path), text ?? '');
    }
    if (action === 'keep') {
      if (before !== undefined) recorded[path] = before;
    } else if (text !== undefined) recorded[path] = digest(text);
  }
  await removeFiles(steps, root);
  const record: InstallRecord = {
    version: prefix.manifest?.version ?? addon().build().version,
    prefix: prefix.folder,
    node: prefix.node,
    files: recorded,
    folders: [...folders],
  };
  await writeWhole(join(root, where.record), `${JSON.stringify(record, null, 2)}\n`);
}
