/** The operator who swaps models at random moments: new files under old names, loads, unloads, files that are none. */
import { readFileSync } from 'node:fs';
import type { Random } from '../../protocol/random-values.js';
import { Audited, type Outcome } from './audited.js';
import { Checks } from './checks.js';
import { putFile, type SwappedModel, type Version } from './swapped-model.js';
import { pause } from './traffic.js';

export class Swapper extends Checks {
  /** Swaps that are over. */
  swaps = 0;

  /** @param defaultPath  the default model's file, which is replaced by a copy of itself */
  constructor(
    private readonly path: string,
    private readonly random: Random,
    private readonly model: SwappedModel,
    private readonly defaultPath: string,
  ) {
    super();
  }

  async run(stop: AbortSignal, longestPauseMs: number): Promise<void> {
    const connection = await Audited.connect(this.path);
    while (!stop.aborted) {
      await pause(this.random.below(longestPauseMs));
      await this.act(connection);
      this.swaps++;
    }
    connection.destroy();
    await connection.closed;
    this.add(connection);
  }

  private act(connection: Audited): Promise<void> {
    switch (this.random.below(7)) {
      case 0:
        return this.unload(connection, { when_idle: true });
      case 1:
        return this.unload(connection, {});
      case 2:
        return this.broken(connection);
      case 3:
        return this.twice(connection);
      case 4:
        return this.sameAgain(connection);
      default:
        return this.replace(connection);
    }
  }

  private async replace(connection: Audited): Promise<void> {
    const next = this.put(this.model.other);
    await this.load(connection, next);
  }

  /** Another file comes while one is being loaded: once the load that was asked for after it is answered, it is the one. */
  private async twice(connection: Audited): Promise<void> {
    const now = this.model.current;
    const between = this.put(this.model.other);
    const first = connection.call('model.load', { model: this.model.name });
    await pause(this.random.below(10));
    const last = this.put(now ?? between);
    await this.load(connection, last);
    this.resultOf(await first, 'model.load before another file came');
  }

  private async unload(connection: Audited, options: { when_idle?: true }): Promise<void> {
    const now = this.model.current;
    this.model.alsoPossible(null);
    const outcome = await connection.call('model.unload', { model: this.model.name, ...options });
    if (!options.when_idle && outcome.kind === 'error' && outcome.code === 'ERR_MODEL_BUSY') {
      this.model.settled(now);
      return;
    }
    if (!this.resultOf(outcome, 'model.unload')) return;
    this.model.settled(null);
    await pause(this.random.below(50));
    if (now) {
      this.model.alsoPossible(now);
      await this.load(connection, now);
    }
  }

  /** A file that is no model is refused, and changes nothing. */
  private async broken(connection: Audited): Promise<void> {
    const now = this.model.current;
    const whole = readFileSync(this.model.path);
    putFile(
      this.model.path,
      this.random.pick([whole.subarray(0, whole.length >> 1), whole.subarray(0, 20), 'GGUF', '']),
    );
    const outcome = await connection.call('model.load', { model: this.model.name });
    this.check(
      outcome.kind === 'error' && /^ERR_(MODEL|FILE)_/.test(outcome.code),
      'a load of a file that is no model',
      outcome,
      'an error',
    );
    if (now) await this.load(connection, this.put(now));
  }

  /** The same model in another file: nobody notices. */
  private async sameAgain(connection: Audited): Promise<void> {
    putFile(this.defaultPath, { copyOf: this.defaultPath });
    const loads = [1, 2].map(() => connection.call('model.load', { model: this.defaultPath }));
    for (const outcome of await Promise.all(loads)) this.resultOf(outcome, 'model.load of the default model');
  }

  private put(version: Version): Version {
    this.model.alsoPossible(version);
    putFile(this.model.path, { copyOf: version.source });
    return version;
  }

  private async load(connection: Audited, version: Version): Promise<void> {
    const outcome: Outcome = await connection.call('model.load', { model: this.model.name });
    if (this.resultOf(outcome, 'model.load')) this.model.settled(version);
  }
}
