import type { Snapshot } from './snapshot.js';

type Labels = Record<string, string>;

/** What happened between two looks, and what is. A figure without a reading, or a rate without time, is null. */
export type Figures = ReturnType<typeof figures>;

export function figures(before: Snapshot, now: Snapshot) {
  const { info, requests, metrics } = now;
  const seconds = (now.atMs - before.atMs) / 1e3;
  const rise = (name: string, labels?: Labels): number | null => {
    const [from, to] = [before.metrics.sum(name, labels), metrics.sum(name, labels)];
    return to === null ? null : to - (from ?? 0);
  };
  const per = (part: number | null, whole: number | null): number | null =>
    part === null || whole === null || whole <= 0 ? null : part / whole;
  const rate = (name: string): number | null => per(rise(name), seconds);
  const share = (part: string): number | null =>
    per(rise('spiked_active_columns_total', { part }), rise('spiked_columns_total', { part }));
  const both = (a: number | null, b: number | null): number | null =>
    a === null || b === null ? null : a + b;
  const bytesPerS = rate('spiked_touched_bytes_total');
  return {
    version: info.version,
    pid: info.pid,
    uptime_s: info.uptime_s,
    isa: info.isa,
    threads: info.threads,
    cpus: info.cpus,
    models: info.models,
    interval_s: seconds,
    tokens_per_s: rate('spiked_generated_tokens_total'),
    prompt_tokens_per_s: rate('spiked_prompt_tokens_total'),
    inter_token_s: per(rise('spiked_inter_token_seconds_sum'), rise('spiked_inter_token_seconds_count')),
    active: requests.active,
    waiting: requests.waiting,
    connections: metrics.sum('spiked_connections'),
    /** Of the least that had to be read: more passed over the bus. */
    read_gb_per_s: bytesPerS === null ? null : bytesPerS / 1e9,
    active_share: { mixer: share('mixer'), ffn: share('ffn') },
    /** Cores kept busy. */
    cpu_cores: rate('spiked_cpu_seconds_total'),
    rss_bytes: metrics.sum('spiked_memory_rss_bytes'),
    /** What the daemon may come to hold; without one it has no bound. */
    budget_bytes: metrics.sum('spiked_memory_budget_bytes'),
    /** Of the budget: promised. */
    reserved_bytes: metrics.sum('spiked_memory_reserved_bytes'),
    model_bytes: both(metrics.sum('spiked_memory_weights_bytes'), metrics.sum('spiked_memory_copied_bytes')),
    session_bytes: metrics.sum('spiked_memory_session_bytes'),
    temperatures_celsius: Object.fromEntries(
      metrics.all('spiked_temperature_celsius').map(({ labels, value }) => [labels['zone'] ?? '', value]),
    ),
    clocks_hz: metrics.all('spiked_cpu_clock_hertz').map(({ value }) => value),
    governors: [
      ...new Set(metrics.all('spiked_cpu_governor_info').map(({ labels }) => labels['governor'] ?? '')),
    ],
    warnings: info.warnings,
    streams: requests.requests.map((request) => {
      const earlier = before.requests.requests.find(
        ({ connection, stream, age_ns: age }) =>
          connection === request.connection && stream === request.stream && age <= request.age_ns,
      );
      const tokens = earlier && request.generated_tokens - earlier.generated_tokens;
      return { ...request, tokens_per_s: per(tokens ?? null, seconds) };
    }),
  };
}
