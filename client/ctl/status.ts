import { Command } from 'commander';
import { connect } from '../index.js';
import { printJson, printLine, table } from './output.js';

export function statusCommand(): Command {
  return new Command('status')
    .description('show the running daemon (exit 4 when none answers)')
    .option('--socket <path>', 'socket of the daemon')
    .option('--json', 'one JSON object')
    .action(status);
}

/** As the daemon was told to load its models. */
const loaded = {
  readahead: 'mapped',
  prefault: 'mapped and prefaulted',
  huge_pages: 'copied into huge pages',
};

async function status(options: { socket?: string; json?: true }): Promise<void> {
  await using client = await connect({ path: options.socket });
  const [info, memory] = [await client.serverInfo(), await client.serverMemory()];
  if (options.json) {
    await printJson({ ...info, memory });
    return;
  }
  const mib = (bytes: number | bigint) => `${(Number(bytes) / 2 ** 20).toFixed(1)} MiB`;
  const threads = `${info.threads} threads${info.cpus === 'none' ? '' : ` on CPUs ${info.cpus}`}`;
  await printLine(
    table([
      ['spiked', `${info.version} (commit ${info.commit})`],
      ['process', `pid ${info.pid}, up ${info.uptime_s.toFixed(0)} s`],
      ['engine', `${info.isa}, ${threads}, ${info.activations} activations`],
      [
        'versions',
        `protocol ${info.protocol_version}, model format ${info.model_format_version}, numerics ${info.numerics_version}`,
      ],
      ['models', info.models.join(', ') || 'none loaded'],
      [
        'memory',
        `${mib(memory.rss_bytes)} resident, ${mib(memory.model_bytes)} models ${loaded[info.loading]}, ${mib(memory.session_bytes)} sessions`,
      ],
      ...info.warnings.map((warning) => ['warning', warning]),
    ]),
  );
}
