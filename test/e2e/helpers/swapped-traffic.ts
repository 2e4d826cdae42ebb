/** Requests on the model that is swapped, and sessions that stay open across swaps and reloads. */
import type { Random } from '../../protocol/random-values.js';
import { Audited, type Outcome } from './audited.js';
import { Checks, same } from './checks.js';
import type { SwappedModel, Version } from './swapped-model.js';
import { greedy, maxTokens, pause, type Undisturbed } from './traffic.js';

/** One client. Every answer is wholly that of one file, and of one that the name stood for between request and answer. */
export class SwappedModelActor extends Checks {
  constructor(
    private readonly path: string,
    private readonly random: Random,
    private readonly model: SwappedModel,
  ) {
    super();
  }

  async run(stop: AbortSignal): Promise<void> {
    const stopped = (): boolean => stop.aborted;
    while (!stopped()) {
      const connection = await Audited.connect(this.path);
      for (let left = 1 + this.random.below(20); left > 0 && !stopped(); left--)
        await (this.random.below(3) === 0 ? this.score(connection) : this.generate(connection));
      connection.destroy();
      await connection.closed;
      this.add(connection);
    }
  }

  private async generate(connection: Audited): Promise<void> {
    const { prompt } = this.random.pick(this.model.versions[0].expected);
    const max = 1 + this.random.below(maxTokens);
    const watch = this.model.watch();
    const { events, outcome } = connection.generate({
      ...greedy(prompt),
      model: this.model.name,
      max_tokens: max,
    });
    const result = this.answer(await outcome, watch.end(), 'text.generate', prompt, (result, { tokens }) =>
      same(result['tokens'], tokens.slice(0, max)),
    );
    if (!result) return;
    const told = events.map(({ token }) => token);
    this.check(same(result['tokens'], told), 'events', told, result['tokens']);
  }

  private async score(connection: Audited): Promise<void> {
    const { prompt } = this.random.pick(this.model.versions[0].expected);
    const watch = this.model.watch();
    const outcome = await connection.call('text.score', { prompt, model: this.model.name });
    this.answer(outcome, watch.end(), 'text.score', prompt, (result, { logprobs }) =>
      same(result['logprobs'], logprobs),
    );
  }

  private answer(
    outcome: Outcome,
    possible: ReadonlySet<Version | null>,
    what: string,
    prompt: string,
    isRight: (result: Record<string, unknown>, expected: Undisturbed) => boolean,
  ): Record<string, unknown> | null {
    if (outcome.kind === 'error' && outcome.code === 'ERR_MODEL_NOT_FOUND' && possible.has(null)) return null;
    const result = this.resultOf(outcome, `${what} on the swapped model`);
    const answers = answersTo(possible, prompt);
    if (result)
      this.check(
        answers.some((one) => isRight(result, one)),
        `${what} on the swapped model`,
        result,
        answers,
      );
    return result;
  }
}

/** One client with a session that it goes on with only after something was swapped and something was reloaded. */
export class SessionKeeper extends Checks {
  /** Sessions that went on across a swap and a reload. */
  kept = 0;

  /**
   * @param model     null for the default model
   * @param expected  of the default model
   * @param changed   resolves once models were swapped and the configuration was reloaded since the call
   */
  constructor(
    private readonly path: string,
    private readonly random: Random,
    private readonly model: SwappedModel | null,
    private readonly expected: readonly Undisturbed[],
    private readonly changed: () => Promise<void>,
  ) {
    super();
  }

  async run(stop: AbortSignal): Promise<void> {
    const connection = await Audited.connect(this.path);
    while (!stop.aborted) await this.keep(connection, stop);
    connection.destroy();
    await connection.closed;
    this.add(connection);
  }

  private async keep(connection: Audited, stop: AbortSignal): Promise<void> {
    const { prompt } = this.random.pick(this.model ? this.model.versions[0].expected : this.expected);
    const watch = this.model?.watch();
    const opened = await connection.call('session.open', this.model ? { model: this.model.name } : {});
    const possible = watch?.end();
    if (opened.kind === 'error' && opened.code === 'ERR_MODEL_NOT_FOUND' && possible?.has(null)) {
      await pause(5);
      return;
    }
    const session = this.resultOf(opened, 'session.open')?.['session'];
    if (session === undefined) return;
    const appended = await connection.call('session.append', { session, prompt });
    if (!this.resultOf(appended, 'session.append')) return;
    const told: unknown[] = [];
    for (const part of [10, 10, maxTokens - 20]) {
      const params = { session, temperature: 0, ignore_eos: true, max_tokens: part };
      const result = this.resultOf(
        await connection.generate(params, 'session.generate').outcome,
        'session.generate across a swap',
      );
      if (!result) return;
      told.push(...(result['tokens'] as number[]));
      if (told.length === maxTokens) break;
      if (!stop.aborted) {
        await this.changed();
        this.kept++;
      }
    }
    const answers = possible
      ? answersTo(possible, prompt)
      : this.expected.filter((one) => one.prompt === prompt);
    this.check(
      answers.some(({ tokens }) => same(told, tokens)),
      'tokens of a session across a swap',
      told,
      answers,
    );
    this.resultOf(await connection.call('session.close', { session }), 'session.close');
  }
}

function answersTo(possible: ReadonlySet<Version | null>, prompt: string): Undisturbed[] {
  return [...possible].flatMap((version) => version?.expected.filter((one) => one.prompt === prompt) ?? []);
}
