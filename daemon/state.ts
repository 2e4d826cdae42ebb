import type { Addon, NativeEngine } from '../native/host/index.js';
import type { Config } from './config.js';
import type { Logger } from './log.js';
import type { MachineWatch } from './machine/watch.js';
import type { Counts } from './metrics/counts.js';
import type { ModelRegistry } from './models/registry.js';
import type { Generation } from './queue/generation.js';
import type { Scheduler } from './queue/scheduler.js';
import type { Sessions } from './sessions/sessions.js';

/** What every method may use. */
export interface DaemonState {
  /** Replaced as a whole by a reload: read it where it is needed. */
  config: Config;
  readonly addon: Addon;
  readonly engine: NativeEngine;
  readonly models: ModelRegistry;
  readonly scheduler: Scheduler;
  readonly generations: Set<Generation>;
  readonly counts: Counts;
  readonly machine: MachineWatch;
  readonly sessions: Sessions;
  readonly log: Logger;
  /** CLOCK_MONOTONIC */
  readonly startedNs: bigint;
  /** True once the daemon takes no new work. */
  stopping: boolean;
}
