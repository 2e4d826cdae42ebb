import { Counter, Gauge, Registry, type Metric } from 'prom-client';
import type { Result } from '../../client/protocol/index.js';
import type { DaemonState } from '../state.js';
import { daemonSamples, machineSamples, type Sample } from './samples.js';
import { memoryMetrics, metricTable, type MetricName } from './table.js';
import type { Tally } from './tally.js';

/** Everything that is known now, in Prometheus' text format; what has no value is left out. */
export async function renderMetrics(
  daemon: DaemonState,
  memory: Result<'server.memory'>,
): Promise<{ text: string; content_type: string }> {
  const registry = new Registry();
  const reading = await daemon.machine.read();
  const samples = { ...(await daemonSamples(daemon)), ...machineSamples(reading, daemon.machine.found) };
  for (const [name, all] of Object.entries(samples)) addSamples(registry, name as MetricName, all);
  const { queueWait, firstToken, interToken } = daemon.counts;
  addTally(registry, 'spiked_queue_wait_seconds', queueWait);
  addTally(registry, 'spiked_time_to_first_token_seconds', firstToken);
  addTally(registry, 'spiked_inter_token_seconds', interToken);
  for (const [field, name] of memoryMetrics) {
    const bytes: unknown = memory[field as keyof typeof memory];
    if (typeof bytes !== 'number') continue;
    new Gauge({ name, help: `server.memory: ${field}`, registers: [registry] }).set(bytes);
  }
  return { text: await registry.metrics(), content_type: registry.contentType };
}

function addSamples(registry: Registry, name: MetricName, samples: readonly Sample[]): void {
  if (samples.length === 0) return;
  const { type, help, labels } = metricTable[name];
  const settings = { name, help, labelNames: labels, registers: [registry] };
  if (type === 'counter') {
    const metric = new Counter(settings);
    for (const sample of samples) metric.inc(sample.labels, sample.value);
  } else {
    const metric = new Gauge(settings);
    for (const sample of samples) metric.set(sample.labels, sample.value);
  }
}

/** prom-client's own histogram takes single values only. */
function addTally(registry: Registry, name: MetricName, tally: Tally): void {
  const { type, help } = metricTable[name];
  const values = tally.cumulative().map((value, i) => ({
    metricName: `${name}_bucket`,
    labels: { le: tally.bounds[i] ?? '+Inf' },
    value,
  }));
  const all = values.at(-1)?.value ?? 0;
  const totals = [
    { metricName: `${name}_sum`, labels: {}, value: tally.sum },
    { metricName: `${name}_count`, labels: {}, value: all },
  ];
  const get = () => ({ name, help, type, aggregator: 'sum', values: [...values, ...totals] });
  registry.registerMetric({ name, get } as unknown as Metric);
}
