/** One generation on a scripted engine: what a real one does too rarely or too fast to be caught at it. */
import { parseParams, SpikedError, type Params, type TokenEvent } from '../../client/protocol/index.js';
import { Counts } from '../../daemon/metrics/counts.js';
import { LoadedModel } from '../../daemon/models/loaded-model.js';
import { Generation } from '../../daemon/queue/generation.js';
import { Scheduler } from '../../daemon/queue/scheduler.js';
import { FreshSequence } from '../../daemon/queue/sequence.js';
import {
  openTokenizer,
  type GeneratedStep,
  type GenerateOptions,
  type HeadStep,
  type NativeModel,
  type NativeSession,
  type SessionStats,
  type Tokenizer,
} from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { eosId, firstByteId, sentencePieceModel } from './helpers/sentencepiece.js';

const test = suite('generation');
let tokenizer: Tokenizer;
test.before(async () => {
  tokenizer = await openTokenizer(sentencePieceModel());
});
test.after(() => tokenizer.close());

type Step = number | Error | 'until cancelled';

interface Setup {
  steps: Step[];
  prompt?: Int32Array | Error;
  params?: Partial<Params<'text.generate'>>;
  withTokenizer?: boolean;
  contextLimit?: number;
  /** Steps that the engine takes before it hands any over. */
  runAhead?: number;
  /** After the nth event. */
  onToken?: (n: number, listener: { isReady: boolean }) => void;
}

const headStep: HeadStep = {
  mode: 'full',
  triggered: false,
  proved: true,
  fellBack: false,
  gap: 0,
  rows: 512,
  survivors: 0,
  idBefore: 0,
  projectionNs: 0,
  priorNs: 0,
  selectionNs: 0,
  verificationNs: 1,
  bytes: 1,
};

/** As the addon writes them; nothing here looks at the times of a head's parts. */
function rowsOf(steps: GeneratedStep[]): Float64Array {
  return Float64Array.from(
    steps.flatMap(({ id, logprob, tNs, head, stats, draft }) => [
      ...[id, logprob ?? NaN, Number(tNs / 1_000_000_000n), Number(tNs % 1_000_000_000n)],
      ...[0, Number(head.triggered), Number(head.proved), Number(head.fellBack), head.gap, head.rows],
      ...[head.survivors, head.idBefore, 0, 0, 0, head.verificationNs, head.bytes],
      ...[stats.position, stats.mixerActive, stats.ffnActive, stats.mixerTotal, stats.ffnTotal],
      ...[stats.bytesTouched, stats.kvBytesTouched, stats.stateBytes, stats.cachedPositions, stats.batch],
      ...[draft?.guessed ?? -1, draft?.right ?? -1],
    ]),
  );
}

function setup({
  steps,
  prompt = Int32Array.of(1),
  params = {},
  withTokenizer = true,
  contextLimit = 1000,
  runAhead = 1,
  onToken = () => undefined,
}: Setup) {
  const calls: string[] = [];
  let fed = 0;
  let paused = false;
  const isPaused = (): boolean => paused;
  let interrupt: (error: Error) => void = () => undefined;
  const stats = (): SessionStats => ({
    position: fed,
    mixerActive: fed,
    ffnActive: fed,
    mixerTotal: fed === 0 ? 0 : 10,
    ffnTotal: fed === 0 ? 0 : 20,
    bytesTouched: 0,
    kvBytesTouched: 0,
    stateBytes: 77,
    cachedPositions: 0,
    batch: 1,
  });
  const session = {
    seed: (seed: bigint) => calls.push(`seed ${String(seed)}`),
    forward: (ids: Int32Array) => {
      calls.push(`forward ${String(ids.length)}`);
      return Promise.resolve({ logits: null, trace: null, tNs: 0n });
    },
    generate: async (
      ids: Int32Array,
      _: unknown,
      { maxTokens, stopIds }: GenerateOptions,
      onSteps: (rows: Float64Array, n: number) => void,
    ): Promise<void> => {
      calls.push(`generate ${String(ids.length)}`);
      paused = false;
      let ahead: GeneratedStep[] = [];
      const hand = async (): Promise<void> => {
        await new Promise((resolve) => setImmediate(resolve));
        const handed = ahead;
        ahead = [];
        if (handed.length > 0 && !calls.includes('close')) onSteps(rowsOf(handed), handed.length);
      };
      for (let n = 1; n <= maxTokens && !isPaused(); n++) {
        const next = steps.shift();
        if (typeof next !== 'number') {
          await hand();
          if (next instanceof Error) throw next;
          await new Promise((_, reject) => (interrupt = reject));
          return;
        }
        fed++;
        const step = { id: next, logprob: null, tNs: process.hrtime.bigint(), head: headStep };
        ahead.push({ ...step, stats: stats(), draft: null });
        if (stopIds.includes(next)) break;
        if (ahead.length >= runAhead) await hand();
      }
      await hand();
    },
    pause: () => {
      calls.push('pause');
      paused = true;
    },
    cancel: () => {
      calls.push('cancel');
      interrupt(new SpikedError('ERR_CANCELLED', 'cancelled'));
    },
    stats,
    close: () => calls.push('close'),
  } as unknown as NativeSession;
  const native = { info: { vocabSize: 512 }, openSession: () => session } as unknown as NativeModel;
  const model = new LoadedModel('m', 'm.gguf', native, withTokenizer ? tokenizer : null, contextLimit, '');
  const scheduler = new Scheduler({ maxActive: 1, maxQueue: 1, maxOwnActive: 1, maxOwnQueue: 1 });
  const events: TokenEvent[] = [];
  const listener = { isReady: true };
  const make = (): Generation =>
    new Generation({
      connection: 1,
      params: parseParams('text.generate', { stream: 1, tokens: [1], ...params }),
      owner: scheduler,
      model,
      sequence: new FreshSequence(model),
      readPrompt: () => (prompt instanceof Error ? Promise.reject(prompt) : Promise.resolve(prompt)),
      seed: 5n,
      listener: {
        ready: () => listener.isReady,
        together: (work) => {
          work();
        },
        token: (event) => {
          events.push(event);
          onToken(events.length, listener);
        },
        head: () => undefined,
      },
      scheduler,
      counts: new Counts(),
    });
  return { generation: make(), make, model, scheduler, events, calls, listener };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
const texts = (events: TokenEvent[]): string[] => events.map(({ text }) => text);

async function failure(work: Promise<unknown>): Promise<Error> {
  const outcome: unknown = await work.then(
    () => new Error('expected a failure'),
    (error: unknown) => error,
  );
  return outcome as Error;
}

const codeOf = (error: Error): string | undefined => (error instanceof SpikedError ? error.code : undefined);

test('a long prompt is fed in turns of 32 ids, a pass each, then the engine goes on by itself', async () => {
  const { generation, calls } = setup({
    steps: [10, 11],
    prompt: new Int32Array(80),
    params: { max_tokens: 2 },
  });
  generation.submit();
  assert.equal((await generation.result).tokens, [10, 11]);
  assert.equal(calls, ['seed 5', 'forward 32', 'forward 32', 'generate 16', 'cancel', 'close']);
});

test('a failing step ends it once; session, model and place are given back', async () => {
  const { generation, calls, model, scheduler } = setup({ steps: [10, new Error('broken invariant')] });
  generation.submit();
  assert.ok(model.busy);
  assert.is((await failure(generation.result)).message, 'broken invariant');
  assert.is(calls.at(-1), 'close');
  assert.not.ok(model.busy);
  await scheduler.whenIdle();
  generation.cancel();
});

test('an event that cannot be told ends it with the reason', async () => {
  const { generation, model } = setup({
    steps: [10, 11, 12],
    onToken: (n) => {
      if (n === 2) throw new RangeError('not finite');
    },
  });
  generation.submit();
  assert.is((await failure(generation.result)).message, 'not finite');
  assert.not.ok(model.busy);
});

test('a prompt that is refused frees its place without touching the engine', async () => {
  const { generation, calls, model, scheduler } = setup({
    steps: [],
    prompt: new SpikedError('ERR_PROMPT_EMPTY', 'x'),
  });
  generation.submit();
  assert.is(codeOf(await failure(generation.result)), 'ERR_PROMPT_EMPTY');
  assert.equal(calls, []);
  assert.not.ok(model.busy);
  await scheduler.whenIdle();
});

test('cancelled in the middle of a step', async () => {
  const { generation, calls, model } = setup({ steps: [10, 'until cancelled'] });
  generation.submit();
  await settle();
  generation.cancel();
  const result = await generation.result;
  assert.is(result.stop_reason, 'cancelled');
  assert.equal(result.tokens, [10]);
  assert.equal(calls.slice(-2), ['cancel', 'close']);
  assert.not.ok(model.busy);
});

test('however far the engine is ahead, what it is told is the same', async () => {
  const letters = Array.from('abcabdxyz', (letter) => tokenizer.pieces.idOf(letter) ?? 0);
  const cases: { params: Setup['params']; steps?: Step[]; tokens: number; reason: string; text: string }[] = [
    { params: { stop: ['abd'] }, tokens: 6, reason: 'stop', text: 'abc' },
    { params: { max_tokens: 4 }, tokens: 4, reason: 'length', text: 'abca' },
    { params: {}, steps: [...letters.slice(0, 3), eosId, ...letters], tokens: 4, reason: 'eos', text: 'abc' },
  ];
  for (const { params = {}, steps = letters, tokens, reason, text } of cases) {
    for (const runAhead of [1, 2, 3, 5, 64]) {
      const { generation, events, calls } = setup({ steps: [...steps], params, runAhead });
      generation.submit();
      const result = await generation.result;
      assert.is(result.stop_reason, reason);
      assert.is(result.text, text);
      assert.equal(result.tokens, steps.slice(0, tokens));
      assert.is(events.length, tokens);
      assert.equal(result.activity, { mixer: tokens / 10, ffn: tokens / 20 }, 'of the accepted steps only');
      assert.is(result.head.steps, tokens);
      assert.equal(calls.slice(-2), ['cancel', 'close']);
    }
  }
});

test('a reader that is behind stops the engine; steps that came too late are kept for it', async () => {
  for (const runAhead of [1, 4]) {
    const { generation, listener, scheduler, events, calls } = setup({
      steps: Array.from({ length: 12 }, (_, i) => 10 + i),
      params: { max_tokens: 12 },
      runAhead,
      onToken: (n, reader) => (reader.isReady = n % 3 !== 0),
    });
    generation.submit();
    for (let told = 3; told < 12; told += 3) {
      await settle();
      assert.is(events.length, told);
      assert.ok(generation.stalled());
      listener.isReady = true;
      scheduler.wake();
    }
    listener.isReady = true;
    const result = await generation.result;
    assert.equal(
      events.map(({ token }) => token),
      Array.from({ length: 12 }, (_, i) => 10 + i),
    );
    assert.is(result.generated_tokens, 12);
    assert.ok(calls.includes('pause'));
    assert.ok(calls.filter((call) => call === 'generate 1').length > 1);
  }
});

test('cancelled with steps that its reader has not got: they do not count', async () => {
  const { generation, events } = setup({
    steps: [10, 11, 12, 13, 'until cancelled'],
    runAhead: 4,
    onToken: (n, reader) => (reader.isReady = n < 2),
  });
  generation.submit();
  await settle();
  assert.is(events.length, 2);
  generation.cancel();
  const result = await generation.result;
  assert.equal(result.tokens, [10, 11]);
  assert.equal(result.activity, { mixer: 0.2, ffn: 0.1 });
});

test('cancelled while its reader is behind: at once, although it has no turn', async () => {
  const { generation, listener, scheduler } = setup({ steps: [10] });
  listener.isReady = false;
  generation.submit();
  await settle();
  generation.cancel();
  assert.is((await generation.result).stop_reason, 'cancelled');
  await scheduler.whenIdle();
});

test('a full queue rejects it and leaves the model free', async () => {
  const { generation, make, model, scheduler } = setup({ steps: ['until cancelled'] });
  generation.submit();
  const waiting = make();
  waiting.submit();
  const refused = make();
  refused.submit();
  assert.is(codeOf(await failure(refused.result)), 'ERR_BUSY');
  scheduler.cancelAll();
  assert.is((await waiting.result).stop_reason, 'cancelled');
  await settle();
  scheduler.cancelAll();
  assert.is((await generation.result).stop_reason, 'cancelled');
  assert.not.ok(model.busy);
});

test('a character of several bytes comes whole, an unfinished one at the end as U+FFFD', async () => {
  const [e, acute, first] = [0xc3, 0xa9, 0xe8].map((byte) => firstByteId + byte);
  const steps = [e ?? 0, acute ?? 0, first ?? 0];
  const { generation, events } = setup({ steps, params: { max_tokens: 3 } });
  generation.submit();
  const { text } = await generation.result;
  assert.is(text, 'é\ufffd');
  assert.equal(texts(events), ['', 'é', '\ufffd']);
});

test('what was withheld for a stop string comes with the last token', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => tokenizer.pieces.idOf(letter) ?? 0);
  const { generation, events } = setup({
    steps: [c ?? 0, a ?? 0, b ?? 0],
    params: { max_tokens: 3, stop: ['abc'] },
  });
  generation.submit();
  assert.is((await generation.result).text, 'cab');
  assert.equal(texts(events), ['c', '', 'ab']);
  const eos = setup({ steps: [a ?? 0, eosId], params: { stop: ['abc'] } });
  eos.generation.submit();
  const result = await eos.generation.result;
  assert.is(result.stop_reason, 'eos');
  assert.equal(texts(eos.events), ['', 'a']);
  const cut = setup({ steps: [a ?? 0, 'until cancelled'], params: { stop: ['abc'] } });
  cut.generation.submit();
  await settle();
  cut.generation.cancel();
  assert.is((await cut.generation.result).text, 'a');
});

test('a stop string wins over the end of the length; the context ends a text, too', async () => {
  const [a, b] = ['a', 'b'].map((letter) => tokenizer.pieces.idOf(letter) ?? 0);
  const both = setup({ steps: [a ?? 0, b ?? 0], params: { max_tokens: 2, stop: ['ab'] } });
  both.generation.submit();
  assert.is((await both.generation.result).stop_reason, 'stop');
  const full = setup({ steps: [10, 11, 12, 13], prompt: new Int32Array(7), contextLimit: 10 });
  full.generation.submit();
  assert.equal((await full.generation.result).tokens, [10, 11, 12]);
});

test('the first word after a prompt keeps its space; without a tokenizer all texts are empty', async () => {
  const the = tokenizer.pieces.idOf('\u2581the') ?? 0;
  const after = setup({ steps: [the], prompt: Int32Array.of(1, the), params: { max_tokens: 1 } });
  after.generation.submit();
  assert.is((await after.generation.result).text, ' the');
  const alone = setup({ steps: [the], prompt: Int32Array.of(1), params: { max_tokens: 1 } });
  alone.generation.submit();
  assert.is((await alone.generation.result).text, 'the');
  const beyond = setup({ steps: [the], prompt: Int32Array.of(511), params: { max_tokens: 1 } });
  beyond.generation.submit();
  assert.is((await beyond.generation.result).text, 'the', 'ids beyond the tokenizer have no text');
  const bare = setup({ steps: [the], params: { max_tokens: 1 }, withTokenizer: false });
  bare.generation.submit();
  assert.is((await bare.generation.result).text, '');
});

test.run();
