import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningSimulator } from '../../../power/meters/kind.js';
import { isErrorCode, SpikedError } from '../../protocol/errors.js';

const program = fileURLToPath(new URL('../main.js', import.meta.url));
/** A simulator that does not end by itself once it is let go. */
const endMs = 2_000;

/**
 * Starts `spikectl meter simulate` as a process of its own, which ends when it is stopped or this process is gone. A Ctrl-C on the terminal
 * does not reach it: who reads the meter ends first.
 *
 * @param settings  its options, `period_ms` for `--period-ms`; `repeat` is yes or no, several faults are joined by `;`
 * @throws SpikedError what the simulator says when it cannot start
 */
export async function launchSimulator(settings: Readonly<Record<string, string>>): Promise<RunningSimulator> {
  const folder = await mkdtemp(join(tmpdir(), 'spiked-meter-'));
  const link = join(folder, 'port');
  const child = fork(program, ['meter', 'simulate', '--link', link, ...optionsOf(settings)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
    detached: true,
  });
  let said = '';
  child.stderr?.on('data', (bytes: Buffer) => void (said = (said + bytes.toString()).slice(-2000)));
  const ended = once(child, 'exit');
  // Later than its end: all that it said is there.
  const silent = once(child, 'close').then(() => false);
  const stop = async (): Promise<void> => {
    child.ref();
    if (child.connected) child.disconnect();
    const timer = setTimeout(() => child.kill('SIGKILL'), endMs);
    await ended;
    clearTimeout(timer);
    await rm(folder, { recursive: true, force: true });
  };
  const ready = await Promise.race([once(child, 'message').then(() => true), silent]);
  if (!ready) {
    await stop();
    const [, code = '', text = said.trim()] = /^spikectl: (ERR_\w+): (.*)$/m.exec(said) ?? [];
    throw new SpikedError(isErrorCode(code) ? code : 'ERR_TOOL_FAILED', `spikectl meter simulate: ${text}`);
  }
  // Nobody who forgets to stop it is kept alive by it.
  child.unref();
  child.channel?.unref();
  return { path: link, stop };
}

function optionsOf(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const option = `--${name.replaceAll('_', '-')}`;
    if (name === 'repeat') return value === 'yes' ? [option] : [];
    return (name === 'fault' ? value.split(';') : [value]).flatMap((part) => [option, part]);
  });
}
