import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { PowerSource } from '../../../power/simulator/index.js';
import { openTrace } from '../../../power/trace/reader.js';
import { program } from '../../ctl/helpers/spikectl.js';
import { xmlFaults } from '../../ctl/helpers/xml.js';
import { assert, suite, tempDir } from '../../tools/suite.js';
import { simulated } from '../helpers/simulated.js';
import { collect } from '../helpers/traces.js';

const test = suite('energy calibrate');
const jiffyS = 0.01;
const [restWatts, wattsPerCore] = [3, 4];

/** A machine on which one process draws, by the CPU time that it uses: whatever else runs here changes nothing. */
class DrawnByOne implements PowerSource {
  pid: number | undefined;

  joulesUntil(seconds: number): number {
    return restWatts * seconds + wattsPerCore * this.cpuSeconds();
  }

  private cpuSeconds(): number {
    if (this.pid === undefined) return 0;
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * jiffyS;
  }
}

test('the whole command: its own load moves the meter, and the delay is found, written and drawn', async () => {
  const source = new DrawnByOne();
  const latencyMs = 200;
  const meter = simulated('pzem', { source, measuring: { periodMs: 100, latencyMs, wattsStep: 0.1 } });
  const folder = join(tempDir(), 'calibration');
  const address = `pzem:${meter.path}?update_ms=100`;
  const args = ['energy', 'calibrate', address, '--half', '0.6', '--cycles', '3', '-o', folder, '--json'];
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  source.pid = child.pid;
  child.once('exit', () => meter.stop());
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  assert.is(child.exitCode, 0, stderr);
  const found = JSON.parse(stdout) as Record<string, number | boolean | null> & { edges: unknown[] };
  assert.equal(JSON.parse(readFileSync(join(folder, 'calibration.json'), 'utf8')), found);
  assert.equal(
    [found['simulated'], found['refused'], found['cycles'], found.edges.length],
    [true, null, 3, 7],
  );
  // The meter's own 0.2 s, the age of its value when it is asked, and the wire.
  const latency = Number(found['latency_s']);
  assert.ok(Math.abs(latency - 0.25) < 0.15, String(latency));
  assert.ok(Math.abs(Number(found['suggested_latency_s']) - latency) < 1e-3);
  assert.ok(Number(found['step_watts']) > 3 * Number(found['noise_watts']), stdout);
  const trace = await openTrace(join(folder, 'trace'));
  assert.ok((await collect(trace.samples())).length >= Number(found['samples']));
  assert.equal(xmlFaults(readFileSync(join(folder, 'calibration.svg'), 'utf8')), []);
});

test.run();
