import type { Client, Result } from '../../index.js';
import { parseMetrics, type Sample } from '../metrics/parse.js';

/** What the daemon said at one moment. */
export interface Snapshot {
  /** Milliseconds of a clock that only goes forward. */
  atMs: number;
  info: Result<'server.info'>;
  requests: Result<'server.requests'>;
  metrics: Metrics;
}

export async function takeSnapshot(client: Client): Promise<Snapshot> {
  const [info, text, requests] = await Promise.all([
    client.serverInfo(),
    client.serverMetrics(),
    client.serverRequests(),
  ]);
  return { atMs: performance.now(), info, requests, metrics: new Metrics(parseMetrics(text)) };
}

export class Metrics {
  constructor(private readonly samples: readonly Sample[]) {}

  /** Sum of the samples of this name that have the labels; null when there is none. */
  sum(name: string, labels: Record<string, string> = {}): number | null {
    const values = this.all(name)
      .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      .map(({ value }) => value);
    return values.length === 0 ? null : values.reduce((a, b) => a + b, 0);
  }

  all(name: string): Sample[] {
    return this.samples.filter((sample) => sample.name === name);
  }
}
