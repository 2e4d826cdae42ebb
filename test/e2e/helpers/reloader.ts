/** The operator who writes the configuration file again and has it read, whole and broken ones, at random moments. */
import type { DaemonProcess } from '../../daemon/helpers/process.js';
import type { Random } from '../../protocol/random-values.js';
import { assert } from '../../tools/suite.js';
import { Audited } from './audited.js';
import { Checks } from './checks.js';
import { putFile } from './swapped-model.js';
import { pause } from './traffic.js';

/** What the log says of a file with a mistake. */
export const refusal = 'the configuration stays as it was';
const patienceMs = 60_000;
/** A limit that nobody comes near to: its value tells which file is in force. */
const mark = 'max_items';
const firstMark = 5000;

/** Settings with other values for everything that a running daemon takes over, none of which turns anybody away. */
export function changedSettings(random: Random, settings: object, markValue: number): object {
  return {
    ...settings,
    log_level: random.pick(['warn', 'error', 'warn', 'error', 'info']),
    log_text: random.below(2) === 0,
    drain_ms: 5000 + random.below(5000),
    slow_reader_ms: 30_000 + random.below(30_000),
    message_ms: 30_000 + random.below(30_000),
    session_idle_ms: 600_000 + random.below(600_000),
    limits: {
      [mark]: markValue,
      max_active: 2 + random.below(3),
      max_connection_active: 8 + random.below(9),
      max_queue: 128 + random.below(128),
      max_connection_queue: 64 + random.below(64),
      max_sessions: 64 + random.below(64),
      max_connection_sessions: 16 + random.below(16),
      max_connections: 64 + random.below(64),
      max_tokens: 4096 + random.below(4096),
      max_depth: 32 + random.below(8),
      max_frame_bytes: 2 ** 20 + random.below(2 ** 20),
      max_unread_bytes: 2 ** 18 + random.below(2 ** 18),
    },
  };
}

export class Reloader extends Checks {
  /** Files that came into force. */
  reloads = 0;
  /** Files that were refused. */
  refusals = 0;

  /** @param settings  those of every file: nothing among them changes */
  constructor(
    private readonly daemon: DaemonProcess,
    private readonly file: string,
    private readonly settings: object,
    private readonly random: Random,
  ) {
    super();
  }

  async run(stop: AbortSignal, longestPauseMs: number): Promise<void> {
    const connection = await Audited.connect(this.daemon.path);
    while (!stop.aborted) {
      await pause(this.random.below(longestPauseMs));
      if ((this.reloads + this.refusals) % 4 === 2) await this.broken(connection);
      else await this.whole(connection);
    }
    connection.destroy();
    await connection.closed;
    this.add(connection);
  }

  private async whole(connection: Audited): Promise<void> {
    const value = firstMark + this.reloads + 1;
    putFile(this.file, JSON.stringify(changedSettings(this.random, this.settings, value)));
    // Now and then several times: more than one reading of a file is none the worse.
    for (let signals = this.random.pick([1, 1, 1, 20]); signals > 0; signals--)
      this.daemon.child.kill('SIGHUP');
    await this.until('the new limits are in force', async () => (await this.markOf(connection)) === value);
    this.reloads++;
  }

  private async broken(connection: Audited): Promise<void> {
    const unwanted = changedSettings(this.random, this.settings, 4242);
    const good = JSON.stringify(unwanted);
    putFile(
      this.file,
      this.random.pick([
        '',
        good.slice(0, good.length >> 1),
        JSON.stringify({ ...unwanted, colour: 'green' }),
        JSON.stringify({ ...unwanted, limits: { [mark]: 4242, max_active: 0 } }),
        JSON.stringify({ ...unwanted, log_level: 'loud' }),
        Buffer.from([0xff, 0xfe, 0x00]),
      ]),
    );
    const told = this.refusalsTold();
    this.daemon.child.kill('SIGHUP');
    await this.until('the refusal is in the log', async () => this.refusalsTold() > told);
    const value = await this.markOf(connection);
    this.check(
      value === firstMark + this.reloads,
      'limits after a broken file',
      value,
      firstMark + this.reloads,
    );
    this.refusals++;
  }

  private async markOf(connection: Audited): Promise<unknown> {
    const info = this.resultOf(await connection.call('server.info', {}), 'server.info');
    return (info?.['limits'] as Record<string, unknown> | undefined)?.[mark];
  }

  private refusalsTold(): number {
    return this.daemon.stderr.split(refusal).length - 1;
  }

  private async until(what: string, look: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + patienceMs;
    while (!(await look())) {
      assert.ok(performance.now() < end, `expected that ${what}: ${this.daemon.stderr.slice(-2000)}`);
      await pause(5);
    }
  }
}
