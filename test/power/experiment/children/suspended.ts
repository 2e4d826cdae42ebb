/**
 * An experiment on a machine that sleeps for an hour in its second run. What the kernel says of the time since boot is the file that stands in for
 * /proc/uptime, which in sleep goes on while the monotonic clock stands. Prints the runs and the remarks as one JSON line.
 */
import { writeFileSync } from 'node:fs';
import { Bench } from '../bench.js';

const [uptime = ''] = process.argv.slice(2);
const bench = new Bench();
bench.onRun = (run) => {
  if (run === 2) writeFileSync(uptime, '3700.00 100.00\n');
  return undefined;
};
await bench.run({ blocks: 1 });
const reasons = (await bench.journal()).flatMap((entry) => (entry.kind === 'run' ? entry.reasons : []));
process.stdout.write(
  `${JSON.stringify({ lines: await bench.runLines(), reasons, remarks: bench.remarks(), revived: bench.revived })}\n`,
);
