import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, SpikedError, usualSocketPaths } from '../../index.js';
import { bundledModel } from '../daemon/reach.js';
import { places } from '../service/places.js';
import type { Subject } from './check.js';

/** Finds the daemon and every model file that matters here. */
export async function findSubject(options: { socket?: string; model?: string[] }): Promise<Subject> {
  const paths = options.socket === undefined ? usualSocketPaths() : ([options.socket] as const);
  const { socketPath, daemon } = await reachFirst(paths);
  const served = 'client' in daemon ? await daemon.client.listModels() : [];
  const named = [
    bundledModel,
    ...(await configured()),
    ...served.map(({ path }) => path),
    ...(options.model ?? []),
  ];
  const files = await Promise.all(named.map(modelFiles));
  return { socketPath, daemon, models: [...new Set(files.flat())] };
}

/** The first that is more than absent, or the first of all. */
async function reachFirst(
  paths: readonly [string, ...string[]],
): Promise<Pick<Subject, 'socketPath' | 'daemon'>> {
  for (const socketPath of paths) {
    const daemon = await reach(socketPath);
    if ('client' in daemon || daemon.code !== 'ERR_DAEMON_NOT_RUNNING') return { socketPath, daemon };
  }
  return { socketPath: paths[0], daemon: await reach(paths[0]) };
}

async function reach(path: string): Promise<Subject['daemon']> {
  try {
    const client = await connect({ path });
    return { client, info: await client.serverInfo() };
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
}

/** Models of the installed configurations; the daemon itself says what is wrong with one that cannot be read. */
async function configured(): Promise<string[]> {
  const found: string[] = [];
  for (const scope of ['system', 'user'] as const) {
    const text = await readFile(places(scope).config, 'utf8').catch(() => '{}');
    try {
      const { models } = JSON.parse(text) as { models?: unknown };
      if (Array.isArray(models)) found.push(...models.filter((path) => typeof path === 'string'));
    } catch {
      // Not JSON.
    }
  }
  return found;
}

/** A folder's .gguf files; what is not there stays, to be reported. */
async function modelFiles(path: string): Promise<string[]> {
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) return [path];
  if (!entry.isDirectory()) return [await realpath(path)];
  const names = (await readdir(path).catch(() => [])).filter((name) => name.endsWith('.gguf'));
  return Promise.all(names.sort().map((name) => realpath(join(path, name))));
}
