import { SpikedError } from '../../protocol/errors.js';

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/y;
const escapes: Record<string, string> = { '\\n': '\n', '\\\\': '\\', '\\"': '"' };

/**
 * The samples of Prometheus' text format, as far as the daemon writes it: without times.
 *
 * @throws SpikedError ERR_INTERNAL naming a line that is none
 */
export function parseMetrics(text: string): Sample[] {
  return text
    .split('\n')
    .filter((row) => row !== '' && !row.startsWith('#'))
    .map(parseSample);
}

function parseSample(row: string): Sample {
  const [, name, labels = '', number = ''] = line.exec(row) ?? [];
  const value = number === '+Inf' ? Infinity : Number(number);
  if (name === undefined || Number.isNaN(value)) throw notMetric(row);
  return { name, labels: parseLabels(labels, row), value };
}

function parseLabels(text: string, row: string): Record<string, string> {
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  while (label.lastIndex < text.length) {
    const [, name, value = ''] = label.exec(text) ?? [];
    if (name === undefined) throw notMetric(row);
    labels[name] = value.replace(/\\./g, (escape) => escapes[escape] ?? escape);
  }
  return labels;
}

function notMetric(row: string): SpikedError {
  return new SpikedError('ERR_INTERNAL', `server.metrics: expected a sample, found ${JSON.stringify(row)}`);
}
