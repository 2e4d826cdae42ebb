import { methods } from '../../client/protocol/index.js';

interface MetricRow {
  type: 'counter' | 'gauge' | 'histogram';
  labels: readonly string[];
  help: string;
}

const counter = (help: string, ...labels: string[]): MetricRow => ({ type: 'counter', labels, help });
const gauge = (help: string, ...labels: string[]): MetricRow => ({ type: 'gauge', labels, help });
const histogram = (help: string): MetricRow => ({ type: 'histogram', labels: [], help });

/** Every metric, once; docs/metrics.md lists the same. Those of `memoryMetrics` come beside them. */
export const metricTable = {
  spiked_build_info: gauge('1; build and engine in its labels', 'version', 'commit', 'isa', 'activations'),
  spiked_uptime_seconds: gauge('time since the daemon started'),
  spiked_engine_threads: gauge('threads that compute'),
  spiked_models_loaded: gauge('models in memory'),
  spiked_sessions_open: gauge('sessions that clients keep open'),

  spiked_requests_total: counter(
    'requests answered, by method and by "ok" or the error code',
    'method',
    'outcome',
  ),
  spiked_generations_total: counter('generations that ended with a summary, by stop reason', 'stop_reason'),
  spiked_requests_active: gauge('requests that share the engine'),
  spiked_requests_waiting: gauge('requests that wait for their turn'),
  spiked_queue_wait_seconds: histogram('from the arrival of a request to the first of its steps'),
  spiked_time_to_first_token_seconds: histogram('from the arrival of a request to its first token'),
  spiked_inter_token_seconds: histogram(
    "from one token of a generation to its next, a slow reader's pauses included",
  ),

  spiked_generated_tokens_total: counter('tokens generated'),
  spiked_prompt_tokens_total: counter('tokens of prompts and of scored texts that were computed'),
  spiked_cached_tokens_total: counter('tokens of prompts that were taken from the prefix cache instead'),
  spiked_touched_bytes_total: counter(
    'least bytes that had to be read: weights of the blocks, keys and values, head',
    'part',
  ),
  spiked_columns_total: counter('columns of sparse projections, once for each token', 'part'),
  spiked_active_columns_total: counter('those of them that were active, so had to be read', 'part'),
  spiked_head_steps_total: counter('tokens by the mode of the head that found them', 'mode'),
  spiked_head_proved_total: counter(
    "tokens that are the full head's, by proof or because every row was computed",
  ),
  spiked_head_fell_back_total: counter(
    'certified: steps in which too many rows survived, so that all were computed',
  ),
  spiked_head_triggered_total: counter('gate: steps whose gap was below the threshold'),
  spiked_head_rows_total: counter('rows computed with f32 activations after a first pass'),
  spiked_head_survivors_total: counter('certified: rows that could still win after the first pass'),
  spiked_draft_passes_total: counter('passes of generations with drafts, after their prompts'),
  spiked_draft_proposed_total: counter('ids that they guessed'),
  spiked_draft_accepted_total: counter('guessed ids that were right, so came without a pass of their own'),

  spiked_connections: gauge('clients connected'),
  spiked_connections_accepted_total: counter('connections accepted'),
  spiked_connections_refused_total: counter('connections refused', 'reason'),

  spiked_cpu_seconds_total: counter('processor time of the daemon, all threads together', 'mode'),
  spiked_event_loop_busy_seconds_total: counter('time that the event loop had something to do'),
  spiked_event_loop_lag_seconds: gauge('what a callback waited for its turn in the event loop just now'),

  spiked_temperature_celsius: gauge('temperature of a zone of the machine', 'zone'),
  spiked_cpu_clock_hertz: gauge('clock of a core in use', 'cpu'),
  spiked_cpu_clock_limit_hertz: gauge('clock that it may reach now', 'cpu'),
  spiked_cpu_clock_max_hertz: gauge('clock that it can reach', 'cpu'),
  spiked_cpu_governor_info: gauge('1; governor of a core in use in its label', 'cpu', 'governor'),
  spiked_cpu_throttle_events_total: counter('times that a core in use became too hot (x86)', 'cpu'),
  spiked_cooling_state: gauge(
    'how far a device that cools by lowering a clock is with that; 0 is not at all',
    'device',
  ),
  spiked_cores_held_back: gauge(
    '1 for each thing that keeps the cores below their speed, as server.info has it',
    'kind',
  ),
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof metricTable;

const memoryFields = Object.keys(methods['server.memory'].result.shape).filter((key) =>
  key.endsWith('_bytes'),
);

/** A gauge for each figure of server.memory, which explains them: `spiked_memory_rss_bytes`. */
export const memoryMetrics = new Map(memoryFields.map((field) => [field, `spiked_memory_${field}`]));
