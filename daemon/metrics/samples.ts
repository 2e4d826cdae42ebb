import { setImmediate as turn } from 'node:timers/promises';
import type { Finding, MachineReading } from '../../native/host/index.js';
import type { DaemonState } from '../state.js';
import type { MetricName } from './table.js';

export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** What a metric is now. No sample where the machine has no reading. */
export type Samples = Partial<Record<MetricName, Sample[]>>;

const one = (value: number): Sample[] => [{ labels: {}, value }];
const by = (label: string, values: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));

/** Of the daemon itself, but for its histograms. */
export async function daemonSamples(daemon: DaemonState): Promise<Samples> {
  const { counts, engine, scheduler } = daemon;
  const { version, commit } = daemon.addon.build();
  const cpu = process.cpuUsage();
  const before = performance.now();
  await turn();
  const lagMs = performance.now() - before;
  return {
    spiked_build_info: [
      { labels: { version, commit, isa: engine.isa, activations: engine.activations }, value: 1 },
    ],
    spiked_uptime_seconds: one(Number(process.hrtime.bigint() - daemon.startedNs) / 1e9),
    spiked_engine_threads: one(engine.threads),
    spiked_models_loaded: one(daemon.models.names.length),
    spiked_sessions_open: one(daemon.sessions.count),
    spiked_requests_total: [...counts.requests.values()].map(({ method, outcome, n }) => ({
      labels: { method, outcome },
      value: n,
    })),
    spiked_generations_total: by('stop_reason', Object.fromEntries(counts.generations)),
    spiked_requests_active: one(scheduler.activeCount),
    spiked_requests_waiting: one(scheduler.waitingCount),
    spiked_generated_tokens_total: one(counts.generatedTokens),
    spiked_prompt_tokens_total: one(counts.promptTokens),
    spiked_cached_tokens_total: one(counts.cachedTokens),
    spiked_touched_bytes_total: by('part', counts.bytes),
    spiked_columns_total: by('part', counts.columns),
    spiked_active_columns_total: by('part', counts.activeColumns),
    spiked_head_steps_total: by('mode', counts.headSteps),
    spiked_head_proved_total: one(counts.head.proved),
    spiked_head_fell_back_total: one(counts.head.fellBack),
    spiked_head_triggered_total: one(counts.head.triggered),
    spiked_head_rows_total: one(counts.head.rows),
    spiked_head_survivors_total: one(counts.head.survivors),
    spiked_draft_passes_total: one(counts.drafts.passes),
    spiked_draft_proposed_total: one(counts.drafts.proposed),
    spiked_draft_accepted_total: one(counts.drafts.accepted),
    spiked_connections: one(counts.connections),
    spiked_connections_accepted_total: one(counts.connectionsAccepted),
    spiked_connections_refused_total: by('reason', counts.connectionsRefused),
    spiked_cpu_seconds_total: by('mode', { user: cpu.user / 1e6, system: cpu.system / 1e6 }),
    spiked_event_loop_busy_seconds_total: one(performance.eventLoopUtilization().active / 1e3),
    spiked_event_loop_lag_seconds: one(lagMs / 1e3),
  };
}

/** Of the cores in use and what cools them. */
export function machineSamples(
  { cores, cooling, temperatures }: MachineReading,
  found: readonly Finding[],
): Samples {
  const perCore = (value: (core: MachineReading['cores'][number]) => number | undefined): Sample[] =>
    cores.flatMap((core) => {
      const reading = value(core);
      return reading === undefined ? [] : [{ labels: { cpu: String(core.cpu) }, value: reading }];
    });
  return {
    spiked_temperature_celsius: temperatures.map(({ zone, celsius }) => ({
      labels: { zone },
      value: celsius,
    })),
    spiked_cpu_clock_hertz: perCore(({ clockHz }) => clockHz),
    spiked_cpu_clock_limit_hertz: perCore(({ limitHz }) => limitHz),
    spiked_cpu_clock_max_hertz: perCore(({ maxHz }) => maxHz),
    spiked_cpu_governor_info: cores.flatMap(({ cpu, governor }) =>
      governor === undefined ? [] : [{ labels: { cpu: String(cpu), governor }, value: 1 }],
    ),
    spiked_cpu_throttle_events_total: perCore(({ throttleEvents }) => throttleEvents),
    spiked_cooling_state: cooling.map(({ device, state }) => ({ labels: { device }, value: state })),
    spiked_cores_held_back: [...new Set(found.map(({ kind }) => kind))].map((kind) => ({
      labels: { kind },
      value: 1,
    })),
  };
}
