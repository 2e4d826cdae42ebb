#!/usr/bin/env node
/** `spiked`. The handlers come first: until they stand, a signal kills the process, so nothing slow may be imported above them. */

const stop = new AbortController();

for (const [signal, number] of [
  ['SIGTERM', 15],
  ['SIGINT', 2],
] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(128 + number);
    stop.abort(signal);
  });
}
// The default would kill: a daemon that is not ready yet has nothing to reload.
process.on('SIGHUP', () => undefined);

const { run } = await import('./run.js');
process.exit(await run(process.argv, stop));
