import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../../client/protocol/errors.js';
import { launchSimulator } from '../../../client/ctl/meter/launch.js';
import { openMeter } from '../../../client/ctl/meter/open.js';
import type { Sample } from '../../../power/meters/meter.js';
import { openMeter as openWithoutMeans } from '../../../power/meters/open.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('the address simulate:');

test('a simulator in a process of its own, read by the real driver, marked as simulated', async () => {
  const meter = openMeter('simulate:?kind=wattsup&watts=12.3&noise_watts=0&period_ms=50&step_watts=0.5');
  assert.is(meter.traits.updatePeriodNs, 50e6);
  assert.is(meter.traits.resolutionWatts, 0.5);
  const samples: Sample[] = [];
  await meter.start({ sample: (sample) => void samples.push(sample) });
  while (samples.length < 3) await sleep(10);
  await meter.stop();
  await meter.stop();
  for (const { watts } of samples) if (watts !== null) assert.is(watts, 12.5);
  const { kind, profile, address, model, simulated } = meter.identity;
  assert.equal([kind, profile, simulated], ['simulate', 'wattsup', true]);
  assert.ok(address.startsWith('simulate:') && model?.includes('Watts Up?'));
});

test('it ends when it is let go, and takes its port with it', async () => {
  const simulator = await launchSimulator({ kind: 'lines', watts: '5' });
  assert.ok(existsSync(simulator.path));
  await simulator.stop();
  assert.not.ok(existsSync(simulator.path));
});

test('what it cannot do is told with its own words', async () => {
  const error = await launchSimulator({ kind: 'pzem', fault: 'negative' }).catch((thrown: unknown) => thrown);
  assert.instance(error, SpikedError);
  assert.is((error as SpikedError).code, 'ERR_USAGE');
  assert.match((error as SpikedError).message, /a pzem has no way to say that/);
});

test('where no program can be started it is refused with the way round', async () => {
  const error = await openWithoutMeans('simulate:')
    .start({ sample: () => undefined })
    .catch((thrown: unknown) => thrown);
  assert.is((error as SpikedError).code, 'ERR_INVALID_ARGUMENT');
  assert.match((error as SpikedError).message, /start spikectl meter simulate/);
});

test.run();
