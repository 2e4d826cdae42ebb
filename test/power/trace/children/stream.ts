/** Writes a trace of many samples and reads it again, in whatever heap it was given. Prints one JSON line. */
import type { Sample } from '../../../../power/meters/meter.js';
import { openTrace } from '../../../../power/trace/reader.js';
import { UpdatePeriodMeter } from '../../../../power/trace/update-period.js';
import { createTrace } from '../../../../power/trace/writer.js';
import { header } from '../../helpers/traces.js';

const [dir = '', count = '0'] = process.argv.slice(2);
const stepNs = 100_000_000n;
const sampleAt = (i: number): Sample => ({
  tNs: BigInt(i) * stepNs + 1n,
  watts: 10 + (i % 17) / 10,
  volts: 230 + (i % 5) / 10,
  amps: 0.087,
  joules: null,
  flags: [],
});

const trace = await createTrace(dir, header());
for (let i = 0; i < Number(count); i++) {
  trace.sample(sampleAt(i));
  // As fast as the disk takes it, a meter's pace being far below.
  if (i % 20_000 === 0) await trace.sync();
}
await trace.close();

const read = await openTrace(dir);
const period = new UpdatePeriodMeter(read.header.traits);
let samples = 0;
let joules = 0;
for await (const sample of read.samples()) {
  period.add(sample);
  joules += (sample.watts ?? NaN) * 0.1;
  samples++;
}
const middle = BigInt(Math.floor(samples / 2)) * stepNs;
let inRange = 0;
for await (const { watts } of read.samples(middle, middle + 100n * stepNs)) inRange += watts === null ? 0 : 1;
process.stdout.write(
  `${JSON.stringify({ samples, joules, in_range: inRange, period_s: period.result().periodNs / 1e9 })}\n`,
);
