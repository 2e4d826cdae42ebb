/**
 * `npm run demo [-- MODEL]`: what the product does, in one go. Starts a daemon of its own, streams a completion of the bundled model,
 * reports speed, activity and memory, and stops the daemon.
 */
import { readFile } from 'node:fs/promises';
import { startPrivateDaemon, type PrivateDaemon } from './daemon/private-daemon.js';
import { bundledModel } from './daemon/reach.js';
import { describeError, exitCode } from './exit.js';
import { print, printLine, table } from './output.js';
import { tokensPerSecond } from './stream-generation.js';

const prompt = 'It was a truth that every one of them';
const maxTokens = 80;
// A fixed seed: the same text on every machine, which is the point of the product.
const seed = 7;

async function demo(model: string): Promise<void> {
  const started = performance.now();
  const daemon = await startPrivateDaemon(model);
  const startMs = performance.now() - started;
  try {
    await stream(daemon, startMs);
  } finally {
    await daemon.stop();
  }
  await printLine('The daemon has stopped.');
}

async function stream(daemon: PrivateDaemon, startMs: number): Promise<void> {
  const info = await daemon.client.serverInfo();
  await printLine(
    `A daemon (pid ${daemon.pid}) serves ${info.models.join(', ')} at ${daemon.socketPath}: ${info.isa}, ${info.threads} threads.\n`,
  );
  await print(prompt);
  const generation = daemon.client.generate({ prompt, max_tokens: maxTokens, seed, temperature: 0.8 });
  const interrupt = () => void generation.cancel();
  process.once('SIGINT', interrupt);
  for await (const event of generation) await print(event.text);
  process.off('SIGINT', interrupt);
  const result = await generation.result;
  if (result.stop_reason === 'cancelled') process.exitCode = exitCode.interrupted;
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const rows = [
    ['speed', `${tokensPerSecond(result).toFixed(1)} tokens/s over ${result.generated_tokens} tokens`],
    [
      'active',
      `mixer ${percent(result.activity.mixer)}, ffn ${percent(result.activity.ffn)} of the columns were read`,
    ],
    ['first answer', `${startMs.toFixed(0)} ms from nothing to a daemon with the model loaded`],
    ['peak memory', await peakMemory(daemon)],
  ];
  await printLine(`\n\n${table(rows)}`);
}

/** The daemon's high-water mark, from the kernel. */
async function peakMemory(daemon: PrivateDaemon): Promise<string> {
  const status = await readFile(`/proc/${daemon.pid}/status`, 'utf8');
  const kib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN);
  const { weights_bytes: modelBytes } = await daemon.client.serverMemory();
  return `${(kib / 1024).toFixed(1)} MiB for the whole daemon, ${(modelBytes / 2 ** 20).toFixed(1)} MiB of it the mapped model`;
}

try {
  await demo(process.argv[2] ?? bundledModel);
} catch (error) {
  const { line, status } = describeError(error);
  process.stderr.write(`${line}\n`);
  process.exitCode = status;
}
