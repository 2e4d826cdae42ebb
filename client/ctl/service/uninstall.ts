import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SpikedError } from '../../protocol/errors.js';
import { removalSteps, removeEmptyFolders, removeFiles } from './files.js';
import { checkRights, scopeOf, type ChangeOptions } from './options.js';
import { places } from './places.js';
import { readRecord } from './record.js';
import { printReport } from './report.js';
import { afterUninstall, beforeUninstall, runCommand, systemdRuns, units } from './systemd.js';

/** Stops the service and takes away what install wrote; what somebody changed or added stays. */
export async function uninstall(options: ChangeOptions): Promise<void> {
  checkRights(options);
  const scope = scopeOf(options);
  const where = places(scope);
  const root = resolve(options.root ?? '/');
  const record = await readRecord(where, root);
  if (record === undefined)
    throw new SpikedError(
      'ERR_FILE_NOT_FOUND',
      `${join(root, where.record)}: expected the record of an installation, found none`,
    );
  const steps = await removalSteps(record.files, root);
  const runs = options.root === undefined && systemdRuns(scope);
  const there = new Set(steps.filter(({ action }) => action !== 'absent').map(({ path }) => path));
  const before = beforeUninstall(
    scope,
    units.filter((unit) => there.has(join(where.units, unit))),
  );
  const after = afterUninstall(scope);
  const dryRun = options.dryRun ?? false;
  if (!dryRun) {
    if (runs) before.forEach(runCommand);
    await removeFiles(steps, root);
    await rm(join(root, where.record));
    await removeEmptyFolders(record.folders, root);
    if (runs) after.forEach(runCommand);
  }
  await printReport({ steps, commands: [...before, ...after], dryRun, runs }, options.json);
}
