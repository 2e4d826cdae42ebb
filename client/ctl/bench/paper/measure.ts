import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { addon } from '../../../../native/host/index.js';
import type { NativeModel } from '../../../../native/host/index.js';
import { SpikedError } from '../../../protocol/errors.js';
import { useModel, useSession } from '../../engine.js';
import { printJson } from '../../output.js';
import type { WorkResult } from './results.js';
import type { Job } from './settings.js';
import { decode, prefill } from './measurements/decode.js';
import { harness } from './measurements/harness.js';
import { head } from './measurements/head.js';
import { golden, numerics } from './measurements/numerics.js';
import { perplexity } from './measurements/perplexity.js';

/** One measurement of `bench paper` or `bench harness`, in a process of its own: a line with the job comes in, a line with the result goes out. */
export function measureCommand(): Command {
  return new Command('measure')
    .description('one measurement of bench paper or bench harness')
    .action(measure);
}

async function measure(): Promise<void> {
  const { job, done } = await readJob();
  // Whatever happens: while standard input is read, the process does not end.
  await work(job).finally(done);
}

async function work(job: Job): Promise<void> {
  const began = performance.now();
  await useModel(job.model, job, async (model, engine) => {
    const loadMs = performance.now() - began;
    const result = await runWork(model, job);
    // Read before the bandwidth's own memory counts.
    await printJson({ result, isa: engine.isa, load_ms: loadMs, peak_rss_bytes: await peakRssBytes() });
  });
  if (job.bandwidthBytes > 0) {
    const read = await addon().readBandwidth(job.threads, job.bandwidthBytes, 3);
    await printJson({ read_bandwidth_gb_s: read });
  }
}

/** Waits for the job. Standard input stays open while the parent lives: its end ends this process, too. */
async function readJob(): Promise<{ job: Job; done: () => void }> {
  const lines = createInterface({ input: process.stdin });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('close', () => {
      reject(
        new SpikedError('ERR_INVALID_ARGUMENT', 'standard input: expected a job as one line, found its end'),
      );
    });
  });
  const leave = () => process.exit(1);
  lines.once('close', leave);
  const done = () => {
    lines.off('close', leave);
    process.stdin.destroy();
  };
  return { job: JSON.parse(line) as Job, done };
}

function runWork(model: NativeModel, job: Job): Promise<WorkResult> {
  const { work } = job;
  if (work.kind === 'numerics') return numerics(model, job, work);
  if (work.kind === 'golden') return golden(model, work.folder);
  return useSession<WorkResult>(model, (session) => {
    if (work.kind === 'decode') return decode(session, work.ids, work.tokens);
    if (work.kind === 'prefill') return prefill(session, work.ids);
    if (work.kind === 'harness') return harness(session, work);
    if (work.kind === 'head') return head(session, model.info.vocabSize, work);
    return perplexity(session, work);
  });
}

async function peakRssBytes(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8');
  return 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN);
}
