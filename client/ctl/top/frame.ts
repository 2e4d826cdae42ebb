import { table } from '../output.js';
import type { Figures } from './figures.js';

const known = (value: number | null, digits: number, unit = ''): string =>
  value === null ? '-' : `${value.toFixed(digits)}${unit}`;
const mib = (bytes: number | null): string => known(bytes === null ? null : bytes / 2 ** 20, 1, ' MiB');
const percent = (share: number | null): string => known(share === null ? null : 100 * share, 1, ' %');

/** The figures for people, a line each, then a table of the streams. */
export function frame(now: Figures): string[] {
  const where = now.cpus === 'none' ? '' : ` on CPUs ${now.cpus}`;
  const milliseconds = now.inter_token_s === null ? null : now.inter_token_s * 1e3;
  return [
    `spiked ${now.version}, pid ${now.pid}, up ${duration(now.uptime_s)}; ${now.isa}, ${now.threads} threads${where}; ${now.models.join(', ')}`,
    '',
    ...table([
      [
        'tokens',
        `${known(now.tokens_per_s, 1)} tokens/s, ${known(milliseconds, 1, ' ms')} each, prompts ${known(now.prompt_tokens_per_s, 1)} tokens/s`,
      ],
      ['requests', `${now.active} active, ${now.waiting} waiting, ${known(now.connections, 0)} connections`],
      [
        'reads',
        `${known(now.read_gb_per_s, 2)} GB/s at least; active columns: mixer ${percent(now.active_share.mixer)}, ffn ${percent(now.active_share.ffn)}`,
      ],
      ['memory', `${mib(now.rss_bytes)} resident`],
      [
        'reserved',
        `${mib(now.reserved_bytes)} of ${mib(now.budget_bytes)}: ${mib(now.model_bytes)} models, ${mib(now.session_bytes)} sessions`,
      ],
      ['cores', `${known(now.cpu_cores, 2)} busy, ${clocks(now)}, ${temperature(now)}`],
      ...now.warnings.map((warning) => ['warning', warning]),
    ]).split('\n'),
    '',
    ...streams(now).split('\n'),
  ];
}

function streams(now: Figures): string {
  const head = ['connection', 'stream', 'model', 'state', 'prompt', 'generated', 'of', 'tokens/s', 'age'];
  const rows = now.streams.map((request) => [
    String(request.connection),
    printable(String(request.stream)),
    request.model,
    request.state,
    String(request.prompt_tokens),
    String(request.generated_tokens),
    String(request.max_tokens),
    known(request.tokens_per_s, 1),
    duration(request.age_ns / 1e9),
  ]);
  if (rows.length === 0) return 'no generations';
  return table(
    [head, ...rows],
    ['right', 'left', 'left', 'left', 'right', 'right', 'right', 'right', 'right'],
  );
}

/** A stream's name is its client's choice: it must not steer this terminal. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, '?');
}

function clocks({ clocks_hz: all, governors }: Figures): string {
  if (all.length === 0) return 'no clocks told';
  const [low, high] = [Math.min(...all), Math.max(...all)].map((hz) => (hz / 1e9).toFixed(2));
  const range = low === high ? `${high} GHz` : `${low} to ${high} GHz`;
  return governors.length === 0 ? range : `${range} (${governors.join(', ')})`;
}

function temperature({ temperatures_celsius: all }: Figures): string {
  const [hottest] = Object.entries(all).sort(([, a], [, b]) => b - a);
  return hottest === undefined ? 'no temperature told' : `${hottest[1].toFixed(1)} °C (${hottest[0]})`;
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (minutes < 60) return `${minutes} min`;
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
