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

/** Bytes in MiB, those that are none left out. */
function parts(bytes: Record<string, number | bigint>): string {
  return Object.entries(bytes)
    .filter(([, n]) => Number(n) > 0)
    .map(([name, n]) => `${mib(n)} ${name}`)
    .join(', ');
}

function mib(bytes: number | bigint): string {
  return `${(Number(bytes) / 2 ** 20).toFixed(1)} MiB`;
}

async function status(options: { socket?: string; json?: true }): Promise<void> {
  await using client = await connect({ path: options.socket });
  const [info, memory] = [await client.serverInfo(), await client.serverMemory()];
  if (options.json) {
    await printJson({ ...info, memory });
    return;
  }
  const threads = `${info.threads} threads${info.cpus === 'none' ? '' : ` on CPUs ${info.cpus}`}`;
  await printLine(
    table([
      ['spiked', `${info.version} (commit ${info.commit})`],
      ['process', `pid ${info.pid}, up ${info.uptime_s.toFixed(0)} s`],
      ['engine', `${info.isa}, ${threads}, ${info.activations} activations`],
      [
        'ternary models',
        `${info.kv} keys and values, ${info.memory} memory, contract ${info.contract}, ${info.head_bits}-bit first pass of heads`,
      ],
      [
        'versions',
        `protocol ${info.protocol_version}, model format ${info.model_format_version}, numerics ${info.numerics_version}`,
      ],
      ['models', info.models.join(', ') || 'none loaded'],
      [
        'memory',
        parts({
          resident: memory.rss_bytes,
          'of them mapped weights': memory.weights_resident_bytes,
          locked: memory.weights_locked_bytes,
        }),
      ],
      [
        'reserved',
        `${memory.budget_bytes === null ? mib(memory.reserved_bytes) : `${mib(memory.reserved_bytes)} of ${mib(memory.budget_bytes)}`}: ${parts(
          {
            'mapped weights': memory.weights_bytes,
            copies: memory.copied_bytes,
            sessions: memory.session_bytes,
            scratch: memory.scratch_bytes,
            'prefix cache': memory.prefix_cache_bytes,
            'the process before them': memory.base_bytes,
          },
        )}`,
      ],
      ...info.warnings.map((warning) => ['warning', warning]),
    ]),
  );
}
