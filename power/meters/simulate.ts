import { SpikedError } from '../../client/protocol/errors.js';
import { lines } from './ascii/lines.js';
import { wattsup } from './ascii/wattsup.js';
import { choice, number, text, type KeyValues } from './keys.js';
import { meterKind, type Address, type Means, type MeterKind, type RunningSimulator } from './kind.js';
import type { Meter, MeterCounts, MeterIdentity, MeterSink, MeterTraits } from './meter.js';
import { modbus, pzem } from './modbus/kinds.js';
import { scpi } from './scpi/scpi.js';

/** Which driver reads which simulated meter, and what its address needs beside the port. */
const drivers: Readonly<Record<string, readonly [row: MeterKind, query: string]>> = {
  pzem: [pzem, ''],
  'pzem-dc': [pzem, 'profile=pzem-dc&'],
  hopi: [modbus, 'profile=hp-9800&'],
  sdm120: [modbus, 'profile=sdm120&'],
  wattsup: [wattsup, ''],
  lines: [lines, ''],
  wt310: [scpi, 'profile=wt310&'],
  gpm8213: [scpi, 'profile=gpm8213&'],
  ute9800: [scpi, 'profile=ute9800&'],
};

const watts = { min: 0, max: 1e6 };
const keys = {
  kind: choice('which meter', 'pzem', Object.keys(drivers)),
  period_ms: number('time between two new values', 100, { min: 5, max: 60_000 }),
  trace: text('file of t_s,watts: power in steps (it follows this machine otherwise)', undefined),
  repeat: choice('begin the trace again at its end', 'no', ['yes', 'no']),
  watts: number('constant power', undefined, watts),
  idle_watts: number('following this machine: at rest', 3, watts),
  watts_per_core: number('following this machine: on top for each busy core', 2, watts),
  latency_ms: number('by which a value is seen after its period', undefined, { min: 0, max: 60_000 }),
  step_watts: number('smallest step of the power', undefined, { min: 1e-6, max: 1000 }),
  noise_watts: number('deviation of white noise', 0.05, watts),
  volts: number('voltage', undefined, { min: 0.1, max: 1000 }),
  power_factor: number('power factor', undefined, { min: 0.01, max: 1 }),
  fault: text('what goes wrong, as of spikectl meter simulate; several joined by ;', undefined),
  seed: number('of noise and faults', 1, { min: 0, max: 2 ** 31, whole: true }),
};
type Values = KeyValues<typeof keys>;

/** `simulate:`: a meter without hardware. A program plays it on a real port, and the driver of the real one reads it. */
export const simulate = meterKind(
  {
    kind: 'simulate',
    form: 'simulate:?kind=pzem&period_ms=100',
    summary: "a simulated meter that follows this machine's load, or a trace; all that comes of it is marked",
    path: 'optional',
    keys,
  },
  (address, values, means) => new SimulatedMeter(address, values, means),
);

class SimulatedMeter implements Meter {
  #meter: Meter;
  #simulator: RunningSimulator | undefined;
  #stopped = false;

  constructor(
    private readonly address: Address,
    private readonly values: Values,
    private readonly means: Means,
  ) {
    // Of no port yet: for its traits.
    this.#meter = this.#driver('');
  }

  get traits(): MeterTraits {
    const { traits } = this.#meter;
    return { ...traits, resolutionWatts: this.values.step_watts ?? traits.resolutionWatts };
  }

  get identity(): MeterIdentity {
    const { kind } = this.values;
    return { ...this.#meter.identity, kind: 'simulate', profile: kind, simulated: true };
  }

  get counts(): MeterCounts {
    return this.#meter.counts;
  }

  async start(sink: MeterSink): Promise<void> {
    const { simulator } = this.means;
    if (simulator === undefined)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${this.address.text}: no simulator can be started here; start spikectl meter simulate, and name its port`,
      );
    if (this.#simulator !== undefined)
      throw new SpikedError('ERR_INVALID_ARGUMENT', `${this.address.text}: it is started already`);
    this.#simulator = await simulator(settingsOf(this.values));
    this.#meter = this.#driver(this.#simulator.path);
    if (this.#stopped) await this.stop();
    await this.#meter.start(sink);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#meter.stop();
    await this.#simulator?.stop();
  }

  #driver(path: string): Meter {
    const { kind, period_ms } = this.values;
    const [row, query] = drivers[kind] ?? [pzem, ''];
    const port = path === '' ? '-' : path;
    const whole = { ...this.address, path: port, query: `${query}update_ms=${String(period_ms)}` };
    return row.open(whole, this.means);
  }
}

/** What was given, and what differs from the defaults of the command. */
function settingsOf(values: Values): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const following = values.trace === undefined && values.watts === undefined;
  return Object.fromEntries(
    given
      .filter(([name]) => following || !['idle_watts', 'watts_per_core'].includes(name))
      .map(([name, value]) => [name, String(value)]),
  );
}
