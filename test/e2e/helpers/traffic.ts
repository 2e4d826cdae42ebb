/** Mixed requests by a seed, each answer held to what an undisturbed daemon gave. */
import type { Client } from '../../../client/index.js';
import type { Random } from '../../protocol/random-values.js';
import { Audited } from './audited.js';
import { Checks, same } from './checks.js';

/** What a daemon answers that nobody disturbs. */
export interface Undisturbed {
  prompt: string;
  tokens: number[];
  text: string;
  logprobs: (number | null)[];
}

const prompts = [
  'It was a truth that',
  'Mr. Darcy looked at her',
  'Emma',
  'She had been',
  'The weather was so very fine this morning that they walked as far as the park, and talked of nothing but the ball; '.repeat(
    3,
  ),
  '',
];
/** Those that fit into any context. */
export const shortPrompts = prompts.filter(({ length }) => length < 100);
export const maxTokens = 40;

/** @param model  the default model unless given */
export async function undisturbed(
  client: Client,
  model?: string,
  asked: readonly string[] = prompts,
): Promise<Undisturbed[]> {
  const all: Undisturbed[] = [];
  for (const prompt of asked) {
    const request = { ...greedy(prompt), model, max_tokens: maxTokens };
    const { tokens, text } = await client.generate(request).result;
    const { logprobs } = await client.score({ prompt, model });
    all.push({ prompt, tokens, text, logprobs });
  }
  return all;
}

export function greedy(prompt: string): { prompt: string; temperature: number; ignore_eos: boolean } {
  return { prompt, temperature: 0, ignore_eos: true };
}

/** One client: requests one after the other, or a few at once, until `stop` aborts. When its daemon is gone it waits for the next one. */
export class Actor extends Checks {
  constructor(
    private readonly path: string,
    private readonly random: Random,
    private readonly expected: readonly Undisturbed[],
  ) {
    super();
  }

  async run(stop: AbortSignal): Promise<void> {
    const stopped = (): boolean => stop.aborted;
    while (!stopped()) {
      const connection = await Audited.connect(this.path).catch(() => null);
      if (!connection) {
        await pause(20);
        continue;
      }
      for (
        let left = 1 + this.random.below(20);
        left > 0 && !stopped() && !connection.socket.destroyed;
        left--
      )
        await this.act(connection);
      connection.destroy();
      await connection.closed;
      this.add(connection);
    }
  }

  private async act(connection: Audited): Promise<void> {
    switch (this.random.below(14)) {
      case 0:
        return this.several(connection);
      case 1:
        return this.score(connection);
      case 2:
        return this.tokens(connection);
      case 3:
        return this.mistakes(connection);
      case 4:
        return this.vanish(connection);
      case 5:
      case 6:
        return this.cancelled(connection);
      case 7:
        return this.look(connection);
      case 8:
      case 9:
        return this.session(connection);
      default:
        return this.generate(connection);
    }
  }

  private async vanish(connection: Audited): Promise<void> {
    const { outcome } = connection.generate({
      ...greedy(this.random.pick(this.expected).prompt),
      max_tokens: maxTokens,
    });
    await pause(this.random.below(40));
    connection.destroy();
    await outcome;
  }

  private async several(connection: Audited): Promise<void> {
    await Promise.all(Array.from({ length: 2 + this.random.below(3) }, () => this.generate(connection)));
  }

  private async generate(connection: Audited): Promise<void> {
    const { prompt, tokens, text } = this.random.pick(this.expected);
    const max = 1 + this.random.below(maxTokens);
    const { events, outcome } = connection.generate({ ...greedy(prompt), max_tokens: max });
    const result = this.resultOf(await outcome, 'text.generate');
    if (!result) return;
    const want = tokens.slice(0, max);
    this.check(same(result['tokens'], want), 'tokens', result['tokens'], want);
    this.check(
      same(
        events.map((event) => event.token),
        want,
      ),
      'events',
      events,
      want,
    );
    const told = events.map((event) => event.text).join('');
    this.check(told === result['text'], 'texts of the events', told, result['text']);
    if (max === maxTokens) this.check(told === text, 'text', told, text);
  }

  private async cancelled(connection: Audited): Promise<void> {
    const { prompt, tokens } = this.random.pick(this.expected);
    const { stream, events, outcome } = connection.generate({ ...greedy(prompt), max_tokens: maxTokens });
    await pause(this.random.below(30));
    const cancel = connection.call('text.cancel', { stream });
    const result = this.resultOf(await outcome, 'a cancelled text.generate');
    this.resultOf(await cancel, 'text.cancel');
    if (!result) return;
    this.check(
      same(result['tokens'], tokens.slice(0, events.length)),
      'tokens before the cancel',
      result['tokens'],
      tokens,
    );
    const reason = result['stop_reason'];
    this.check(
      reason === 'cancelled' || (reason === 'length' && events.length === maxTokens),
      'reason',
      reason,
      'cancelled',
    );
  }

  private async score(connection: Audited): Promise<void> {
    const { prompt, logprobs } = this.random.pick(this.expected);
    const result = this.resultOf(await connection.call('text.score', { prompt }), 'text.score');
    if (result) this.check(same(result['logprobs'], logprobs), 'logprobs', result['logprobs'], logprobs);
  }

  private async tokens(connection: Audited): Promise<void> {
    const { prompt } = this.random.pick(this.expected);
    const encoded = this.resultOf(await connection.call('tokens.encode', { text: prompt }), 'tokens.encode');
    if (!encoded) return;
    const decoded = this.resultOf(await connection.call('tokens.decode', encoded), 'tokens.decode');
    if (decoded) this.check(decoded['text'] === prompt, 'decoded text', decoded['text'], prompt);
  }

  /** A text in two parts, the second twice: in the session and in a fork of it. */
  private async session(connection: Audited): Promise<void> {
    const { prompt, tokens } = this.random.pick(this.expected);
    const opened = this.resultOf(await connection.call('session.open', {}), 'session.open');
    const session = opened?.['session'];
    const appended = opened && (await connection.call('session.append', { session, prompt }));
    if (!appended || !this.resultOf(appended, 'session.append')) return;
    const first = 1 + this.random.below(maxTokens - 1);
    if (!(await this.part(connection, session, tokens.slice(0, first)))) return;
    const forked = this.resultOf(await connection.call('session.fork', { session }), 'session.fork');
    if (!forked) return;
    const both = [session, forked['session']];
    await Promise.all(both.map((one) => this.part(connection, one, tokens.slice(first))));
    if (this.random.below(2) === 0)
      this.resultOf(await connection.call('session.close', { session }), 'session.close');
  }

  private async part(connection: Audited, session: unknown, want: readonly number[]): Promise<boolean> {
    const params = { session, temperature: 0, ignore_eos: true, max_tokens: want.length };
    const { outcome } = connection.generate(params, 'session.generate');
    const result = this.resultOf(await outcome, 'session.generate');
    if (result) this.check(same(result['tokens'], want), 'tokens of a session', result['tokens'], want);
    return result !== null;
  }

  private async mistakes(connection: Audited): Promise<void> {
    const calls: [method: string, params: object, code: string][] = [
      ['no.such', {}, 'ERR_METHOD_UNKNOWN'],
      ['server.info', { nonsense: 1 }, 'ERR_INVALID_ARGUMENT'],
      ['text.generate', { stream: 0, prompt: 'x', max_tokens: 'many' }, 'ERR_INVALID_ARGUMENT'],
      ['text.generate', { stream: 0, tokens: [] }, 'ERR_PROMPT_EMPTY'],
      ['text.score', { tokens: [1_000_000] }, 'ERR_TOKEN_UNKNOWN'],
      ['model.load', { model: '/etc/passwd' }, 'ERR_MODEL_FORBIDDEN'],
      ['model.unload', { model: 'nothing' }, 'ERR_MODEL_NOT_FOUND'],
    ];
    const [method, params, code] = this.random.pick(calls);
    const outcome = await connection.call(method, params);
    if (outcome.kind === 'lost') this.tally.lost++;
    else if (outcome.kind === 'error' && outcome.code === 'ERR_BUSY') this.tally.busy++;
    else this.check(outcome.kind === 'error' && outcome.code === code, `error of ${method}`, outcome, code);
  }

  private async look(connection: Audited): Promise<void> {
    const method = this.random.pick(['server.info', 'server.memory', 'server.metrics', 'model.list']);
    this.resultOf(await connection.call(method, {}), method);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
