import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { connect } from '../index.js';
import { print } from './output.js';

export function metricsCommand(): Command {
  return new Command('metrics')
    .description("print the running daemon's metrics, in Prometheus' text format")
    .option('--socket <path>', 'socket of the daemon')
    .option('--textfile <path>', "write them to this file at once, for node_exporter's textfile collector")
    .action(metrics);
}

async function metrics(options: { socket?: string; textfile?: string }): Promise<void> {
  await using client = await connect({ path: options.socket });
  const text = await client.serverMetrics();
  if (options.textfile === undefined) await print(text);
  else await replaceFile(options.textfile, text);
}

/** Whoever reads the path finds the old text or the new one, whole. The collector passes over a name that does not end in .prom. */
async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    await writeFile(draft, text);
    // node_exporter runs as a user of its own; the umask may say otherwise.
    await chmod(draft, 0o644);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
