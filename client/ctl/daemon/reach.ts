import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, SpikedError, type Client } from '../../index.js';
import { remark } from '../output.js';
import { startPrivateDaemon } from './private-daemon.js';

/** The model that comes with the product. */
export const bundledModel = fileURLToPath(new URL('../../../../models/default.gguf', import.meta.url));

export interface Reached {
  client: Client;
  /** The loaded model to ask for: undefined is the daemon's default. */
  model: string | undefined;
  /** What is to be known of the model before its answers are trusted. */
  warnings(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * The daemon that answers at `socket`, with the model loaded; or a private one, when no socket was asked for and nobody
 * answers at the usual place or the daemon there may not use the model's file.
 */
export async function reachDaemon(options: { socket?: string; model?: string }): Promise<Reached> {
  const model = options.model !== undefined && isPath(options.model) ? resolve(options.model) : options.model;
  const running = await connectUnlessAbsent(options.socket);
  if (running === undefined) return startOwn(model, 'no daemon is running');
  try {
    const name = model === undefined ? undefined : (await running.loadModel(model)).name;
    return reached(running, name, () => running.close());
  } catch (error) {
    await running.close();
    const elsewhere =
      error instanceof SpikedError && ['ERR_MODEL_FORBIDDEN', 'ERR_MODEL_NOT_FOUND'].includes(error.code);
    if (!elsewhere || options.socket !== undefined || model === undefined || !isPath(model)) throw error;
    return startOwn(model, 'the running daemon may not use this file');
  }
}

async function connectUnlessAbsent(socket: string | undefined): Promise<Client | undefined> {
  try {
    return await connect({ path: socket });
  } catch (error) {
    if (socket === undefined && error instanceof SpikedError && error.code === 'ERR_DAEMON_NOT_RUNNING')
      return undefined;
    throw error;
  }
}

async function startOwn(model: string | undefined, why: string): Promise<Reached> {
  const file = model ?? bundledModel;
  if (!existsSync(file))
    throw new SpikedError('ERR_FILE_NOT_FOUND', `${file}: expected a model file, found none`);
  const daemon = await startPrivateDaemon(file);
  remark(`${why}: started a private one (pid ${daemon.pid}) for this command`);
  return reached(daemon.client, undefined, () => daemon.stop());
}

function reached(client: Client, model: string | undefined, close: () => Promise<void>): Reached {
  const warnings = async () => {
    // A daemon that leaves now has answered what matters.
    const models = await client.listModels().catch(() => []);
    const asked = models.find((entry) => (model === undefined ? entry.default : entry.name === model));
    return asked?.info?.warnings ?? [];
  };
  return { client, model, warnings, close };
}

function isPath(model: string): boolean {
  return model.includes('/') || model.endsWith('.gguf');
}
