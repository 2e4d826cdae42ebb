import { calibrate } from '../../../power/calibrate/calibrate.js';
import { spinningLoad, type Load } from '../../../power/calibrate/load.js';
import { openMeter } from '../../../power/meters/open.js';
import type { PowerSource } from '../../../power/simulator/index.js';
import { assert, suite } from '../../tools/suite.js';
import { simulated, type Simulated } from '../helpers/simulated.js';

const test = suite('calibrate: through a serial port');

/** A machine that draws what it is told to, at once; its power is what the simulated meter measures. */
class Machine implements PowerSource, Load {
  readonly #edges: { s: number; watts: number }[] = [{ s: 0, watts: 3 }];
  meter: Simulated | undefined;

  constructor(private readonly busyWatts: number) {}

  set(busy: boolean): bigint {
    const tNs = process.hrtime.bigint();
    this.#edges.push({
      s: Number(tNs - (this.meter?.startNs ?? 0n)) / 1e9,
      watts: busy ? this.busyWatts : 3,
    });
    return tNs;
  }

  joulesUntil(seconds: number): number {
    return this.#edges.reduce((sum, { s, watts }, i) => {
      const end = Math.min(seconds, this.#edges[i + 1]?.s ?? Infinity);
      return sum + watts * Math.max(0, end - s);
    }, 0);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

async function calibrated(busyWatts: number, latencyMs: number) {
  const machine = new Machine(busyWatts);
  const meter = simulated('pzem', { source: machine, measuring: { periodMs: 100, latencyMs, wattsStep: 0.1 } }); // prettier-ignore
  machine.meter = meter;
  try {
    const opened = openMeter(`pzem:${meter.path}?update_ms=100&poll_ms=50`);
    const signal = new AbortController().signal;
    return await calibrate(opened, machine, { halfSeconds: 0.6, cycles: 3, signal });
  } finally {
    meter.stop();
  }
}

test('the latency of a simulated meter is found, with the height of the step', async () => {
  const { alignment, edges, samples } = await calibrated(10, 200);
  assert.is(alignment.refused, null);
  // The meter's own 0.2 s, the age of its value when it is asked, and the wire.
  assert.ok(Math.abs((alignment.latency_s ?? NaN) - 0.25) < 0.12, `found ${alignment.latency_s}`);
  assert.ok(Math.abs(alignment.step_watts - 7) < 1, `step ${alignment.step_watts}`);
  assert.is(edges.length, 7);
  assert.ok(samples.length > 30, `${samples.length} samples`);
});

test('the load spins when told to and sleeps when not', async () => {
  const load = await spinningLoad(1);
  const used = async (ms: number): Promise<number> => {
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return process.cpuUsage(before).user / 1000;
  };
  try {
    const idle = await used(300);
    load.set(true);
    const busy = await used(300);
    load.set(false);
    await used(20);
    const after = await used(300);
    assert.ok(busy > 3 * idle && busy > 3 * after, `${idle}, ${busy}, ${after} ms`);
  } finally {
    await load.stop();
  }
});

test.run();
