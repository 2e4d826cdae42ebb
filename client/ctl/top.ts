import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { connect, type Client } from '../index.js';
import { exitCode } from './exit.js';
import { decimal } from './options.js';
import { printJson, printLine } from './output.js';
import { figures, type Figures } from './top/figures.js';
import { frame } from './top/frame.js';
import { withScreen } from './top/screen.js';
import { takeSnapshot } from './top/snapshot.js';

interface TopOptions {
  socket?: string;
  interval: number;
  once?: true;
  json?: true;
}

export function topCommand(): Command {
  return new Command('top')
    .description('watch the running daemon: speed, requests, streams, memory, clocks (Ctrl-C ends)')
    .option('--socket <path>', 'socket of the daemon')
    .option('--interval <s>', 'seconds between two looks', decimal(0.1, 3600), 1)
    .option('--once', 'print one look and end; so does a pipe without --json')
    .option('--json', 'one JSON object a look')
    .action(top);
}

async function top(options: TopOptions): Promise<void> {
  await using client = await connect({ path: options.socket });
  const stop = new AbortController();
  const end = (): void => {
    process.exitCode = exitCode.interrupted;
    stop.abort();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, end);
  try {
    await show(looks(client, options.interval * 1e3, stop.signal), options);
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}

async function show(all: AsyncGenerator<Figures>, options: TopOptions): Promise<void> {
  const once = options.once === true || (options.json !== true && !process.stdout.isTTY);
  const each = async (print: (now: Figures) => Promise<void> | void): Promise<void> => {
    for await (const now of all) {
      await print(now);
      if (once) return;
    }
  };
  if (options.json) await each(printJson);
  else if (once) await each((now) => printLine(frame(now).join('\n')));
  else
    await withScreen((draw) =>
      each((now) => {
        draw(frame(now));
      }),
    );
}

/** What happened in each interval, until the signal aborts; throws ERR_CONNECTION_LOST when the daemon goes. */
async function* looks(client: Client, intervalMs: number, signal: AbortSignal): AsyncGenerator<Figures> {
  let before = await takeSnapshot(client);
  for (;;) {
    const lost = client.closed.then(() => undefined);
    await Promise.race([sleep(intervalMs, undefined, { signal }).catch(() => undefined), lost]);
    if (signal.aborted) return;
    const now = await takeSnapshot(client);
    yield figures(before, now);
    before = now;
  }
}
