/** Records until a write fails, as a meter would. Prints one JSON line: what the writer said, and how many samples it took. */
import { createTrace } from '../../../../power/trace/writer.js';
import { header, sample } from '../../helpers/traces.js';
import { SpikedError } from '../../../../client/protocol/errors.js';

const [dir = ''] = process.argv.slice(2);
const told: string[] = [];
let taken = 0;
try {
  const trace = await createTrace(dir, header(), {
    flushMs: 1,
    onFailure: ({ code, message }) => told.push(`${code}: ${message}`),
  });
  while (trace.failure === null && taken < 100_000) {
    trace.sample(sample(BigInt(++taken) * 1_000_000_000n, 10.3, { volts: 230.4, amps: 0.087 }));
    if (taken % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  trace.sample(sample(10n ** 17n, 1));
  await trace.close();
  process.stdout.write(`${JSON.stringify({ told, taken, closed: 'well' })}\n`);
} catch (error) {
  const closed = error instanceof SpikedError ? error.code : String(error);
  process.stdout.write(`${JSON.stringify({ told, taken, closed })}\n`);
}
