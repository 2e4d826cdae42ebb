import { cpus, loadavg } from 'node:os';
import { addon } from '../../../native/host/index.js';
import type { ModelInfo, NativeEngine, Spread } from '../../../native/host/index.js';

/** What every line says of the machine and the build. */
export function machineFacts() {
  const { version, commit, compiler } = addon().build();
  return {
    version,
    commit,
    compiler,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    load_average: loadavg()[0] ?? 0,
  };
}

/** What every line says of the engine and the model. */
export function modelFacts(engine: NativeEngine, info: ModelInfo) {
  return {
    threads: engine.threads,
    cpus: engine.cpus,
    loading: engine.loading,
    isa: engine.isa,
    activations: engine.activations,
    model: info.name,
    weights: info.weights,
    data_sha256: info.dataSha256,
  };
}

/** `name`, `name_min`, `name_max`: median and range of the rounds; null where nothing was measured. */
export function spreadFields<Name extends string>(
  name: Name,
  spread: Spread | null,
): Record<Name | `${Name}_min` | `${Name}_max`, number | null> {
  const { median, min, max } = spread ?? { median: null, min: null, max: null };
  return { [name]: median, [`${name}_min`]: min, [`${name}_max`]: max } as Record<
    Name | `${Name}_min` | `${Name}_max`,
    number | null
  >;
}

/** For people: the median and the range. */
export function shown({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** For people: parts as shares of all, the largest first. */
export function parts(of: Readonly<Record<string, number>>): string {
  const all = Object.values(of).reduce((sum, part) => sum + part, 0);
  return Object.entries(of)
    .filter(([, part]) => part > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, part]) => `${name.replaceAll('_', ' ')} ${percent(part / all)}`)
    .join(', ');
}

export function threadsText(threads: number): string {
  return threads === 1 ? '1 thread' : `${threads} threads`;
}
