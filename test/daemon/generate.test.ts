import type { Client, GenerateParams, GenerateResult, TokenEvent } from '../../client/index.js';
import { SpikedError, type ErrorCode } from '../../client/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, greedyCases, smallCase, smallContext, smallVocab } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { bosId, eosId, firstByteId, tokenizerSize } from './helpers/sentencepiece.js';

const test = suite('generate');
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  const bare = await goldenModel(smallCase, { name: 'bare' });
  const other = await goldenModel('e_base194m', { name: 'other', weights: 'int8' });
  const spoken = await goldenModel(smallCase, { name: 'spoken', tokenizer: true });
  daemon = await DaemonProcess.start([
    '--model',
    bare,
    '--model',
    other,
    '--model',
    spoken,
    '--log-level',
    'trace',
  ]);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  const { code } = await daemon.stop();
  assert.is(code, 0, daemon.stderr);
});

async function generate(params: GenerateParams): Promise<{ events: TokenEvent[]; result: GenerateResult }> {
  const generation = client.generate(params);
  const events: TokenEvent[] = [];
  for await (const event of generation) events.push(event);
  return { events, result: await generation.result };
}

async function refused(params: GenerateParams, code: ErrorCode, text: RegExp): Promise<void> {
  const error: unknown = await client.generate(params).result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, SpikedError);
  assert.is((error as SpikedError).code, code);
  assert.match((error as SpikedError).message, text);
}

/** The text of ids, by way of tokens.decode. */
const decode = (tokens: number[]): Promise<string> => client.decode(tokens, { model: 'spoken' });

test('greedy ids are those of the reference', async () => {
  for (const { tag, prompt, greedy } of greedyCases(smallCase)) {
    const { events, result } = await generate({ tokens: prompt, temperature: 0, max_tokens: greedy.length });
    assert.equal(result.tokens, greedy, tag);
    assert.equal(
      events.map(({ token }) => token),
      greedy,
    );
    assert.is(result.stop_reason, 'length');
    assert.is(result.prompt_tokens, prompt.length);
    assert.is(result.generated_tokens, greedy.length);
  }
});

test('a model is chosen by name: the 194M form with INT8 weights gives its own reference ids', async () => {
  const [first] = greedyCases('e_base194m', 'int8_expected.safetensors');
  assert.ok(first);
  const { result } = await generate({ tokens: first.prompt, temperature: 0, max_tokens: 8, model: 'other' });
  assert.equal(result.tokens, first.greedy.slice(0, 8));
  assert.is(result.model, 'other');
});

test('several at a time give what each gives alone', async () => {
  const cases = greedyCases(smallCase).slice(0, 4);
  const all = await Promise.all(
    cases.map(({ prompt, greedy }) =>
      generate({ tokens: prompt, temperature: 0, max_tokens: greedy.length }),
    ),
  );
  all.forEach(({ result }, i) => assert.equal(result.tokens, cases[i]?.greedy));
});

test('events count from 0, rise in time, carry logprobs when asked; the summary adds up', async () => {
  const before = process.hrtime.bigint();
  const { events, result } = await generate({
    tokens: [1, 2, 3],
    temperature: 0,
    max_tokens: 6,
    logprobs: true,
  });
  const after = process.hrtime.bigint();
  events.forEach((event, i) => {
    assert.is(event.seq, i);
    assert.ok(
      event.t_ns > (events[i - 1]?.t_ns ?? before) && event.t_ns < after,
      'CLOCK_MONOTONIC, ascending',
    );
  });
  const { tokens, logprobs } = await client.score({ tokens: [1, 2, 3, ...result.tokens] });
  assert.equal(tokens, [1, 2, 3, ...result.tokens]);
  assert.is(logprobs[0], null);
  events.forEach(({ logprob }, i) => {
    assert.ok(
      Math.abs((logprob ?? NaN) - (logprobs[3 + i] ?? NaN)) < 1e-5,
      `logprob ${String(i)} as text.score has it`,
    );
  });
  const { queued_ns, prefill_ns, decode_ns, total_ns } = result.timings;
  assert.is(queued_ns + prefill_ns + decode_ns, total_ns);
  assert.ok(result.activity.mixer > 0 && result.activity.mixer < 1 && result.activity.ffn > 0);
  const { events: plain } = await generate({ tokens: [1], max_tokens: 1 });
  assert.is(plain[0]?.logprob, undefined);
});

test('score: total and perplexity follow from the logprobs; one id has none', async () => {
  const { logprobs, total_logprob, perplexity } = await client.score({ tokens: [5, 6, 7, 8] });
  const sum = logprobs.reduce<number>((total, logprob) => total + (logprob ?? 0), 0);
  assert.ok(Math.abs(sum - total_logprob) < 1e-9);
  assert.ok(Math.abs(Math.exp(-sum / 3) - (perplexity ?? 0)) < 1e-6 * (perplexity ?? 0));
  assert.equal(await client.score({ tokens: [5] }), {
    tokens: [5],
    logprobs: [null],
    total_logprob: 0,
    perplexity: null,
  });
});

test('a seed repeats a run; a random one is reported and repeats it too', async () => {
  const params = { tokens: [9, 8, 7], max_tokens: 12, temperature: 1 };
  const random = (await generate(params)).result;
  const again = (await generate({ ...params, seed: random.seed })).result;
  assert.equal(again.tokens, random.tokens);
  const other = await Promise.all(
    [1, 2, 3].map(async (seed) => (await generate({ ...params, seed })).result.tokens.join()),
  );
  assert.ok(new Set(other).size > 1, 'different seeds give different texts');
  const large = (await generate({ ...params, seed: 2n ** 64n - 1n })).result;
  assert.is(large.seed, 2n ** 64n - 1n);
});

test('banned ids never come', async () => {
  const { result } = await generate({ tokens: [1, 2], temperature: 0, max_tokens: 4 });
  const banned = result.tokens.slice(0, 1);
  const without = (await generate({ tokens: [1, 2], temperature: 0, max_tokens: 4, banned })).result;
  assert.not.ok(without.tokens.includes(banned[0] ?? -1));
});

test('text: encode and decode are each other’s inverse', async () => {
  const text = 'the sea 能 🙂\n';
  const tokens = await client.encode(text, { model: 'spoken' });
  assert.is(await decode(tokens), text);
  assert.equal(await client.encode(text, { model: 'spoken', bos: true }), [bosId, ...tokens]);
  assert.match(await decode([firstByteId + 0xf0, firstByteId + 0x9f]), /^\ufffd+$/);
});

test('text: the pieces joined are the summary, which continues the prompt', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { events, result } = await generate({
      prompt: 'the a',
      model: 'spoken',
      temperature: 1.5,
      top_k: 0,
      top_p: 1,
      max_tokens: 40,
      seed,
    });
    assert.is(events.map(({ text }) => text).join(''), result.text);
    const prompt = await client.encode('the a', { model: 'spoken', bos: true });
    assert.is(result.prompt_tokens, prompt.length);
    const said = result.tokens.filter((id) => id !== eosId);
    assert.is(
      (await decode(prompt)) + result.text,
      await decode([...prompt, ...said]),
      `seed ${String(seed)}`,
    );
    assert.ok(
      events.slice(0, -1).every(({ text }) => !text.endsWith('\ufffd') || result.text.includes('\ufffd')),
    );
  }
});

test('stop strings end the text before them and are named', async () => {
  const params = { prompt: 'the', model: 'spoken', temperature: 0, max_tokens: 60 };
  const whole = (await generate(params)).result;
  assert.ok(whole.text.length > 8, JSON.stringify(whole.text));
  const stop = whole.text.slice(4, 7);
  const { events, result } = await generate({ ...params, stop: ['never this', stop] });
  assert.is(result.stop_reason, 'stop');
  assert.is(result.stop, stop);
  assert.is(result.text, whole.text.slice(0, whole.text.indexOf(stop)));
  assert.is(events.map(({ text }) => text).join(''), result.text);
  assert.equal(result.tokens, whole.tokens.slice(0, result.tokens.length));
});

test('EOS ends a text unless it is to be ignored', async () => {
  // Everything but EOS is banned: the first draw must be it.
  const banned = Array.from({ length: tokenizerSize }, (_, id) => id).filter((id) => id !== eosId);
  const params = { prompt: 'a', model: 'spoken', banned, max_tokens: 3 };
  const { events, result } = await generate(params);
  assert.is(result.stop_reason, 'eos');
  assert.equal(result.tokens, [eosId]);
  assert.is(events[0]?.text, '');
  const on = (await generate({ ...params, ignore_eos: true })).result;
  assert.equal(on.tokens, [eosId, eosId, eosId]);
  assert.is(on.stop_reason, 'length');
});

test('the context binds: a prompt that fills it is refused, a text that reaches it ends', async () => {
  const prompt = (length: number): number[] => Array.from({ length }, (_, i) => i % smallVocab);
  await refused(
    { tokens: prompt(smallContext) },
    'ERR_CONTEXT_FULL',
    /at most 191 tokens \(a context of 192 tokens\), found 192/,
  );
  const { result } = await generate({ tokens: prompt(smallContext - 3), max_tokens: 50 });
  assert.is(result.stop_reason, 'length');
  assert.is(result.generated_tokens, 3);
});

test('wrong prompts are refused by name', async () => {
  await refused({ tokens: [] }, 'ERR_PROMPT_EMPTY', /at least one token/);
  await refused({ prompt: '', bos: false, model: 'spoken' }, 'ERR_PROMPT_EMPTY', /at least one token/);
  await refused({ tokens: [smallVocab] }, 'ERR_TOKEN_UNKNOWN', /below 512, found 512/);
  await refused({ tokens: [1], banned: [smallVocab] }, 'ERR_TOKEN_UNKNOWN', /"banned".*found 512/);
  await refused({ prompt: 'x' }, 'ERR_TOKENIZER_MISSING', /model "bare"/);
  await refused({ tokens: [1], stop: ['x'] }, 'ERR_TOKENIZER_MISSING', /model "bare"/);
  await refused({ tokens: [1], model: 'nobody' }, 'ERR_MODEL_NOT_FOUND', /model "nobody"/);
  await refused({}, 'ERR_INVALID_ARGUMENT', /exactly one of "prompt", "tokens" and "messages", found none/);
  await refused({ prompt: 'x', tokens: [1] }, 'ERR_INVALID_ARGUMENT', /found "prompt" and "tokens"/);
  await refused(
    { prompt: 'x'.repeat(262_145), model: 'spoken' },
    'ERR_TEXT_TOO_LONG',
    /at most 262144 bytes/,
  );
  await refused({ tokens: [1], max_tokens: 4097 }, 'ERR_INVALID_ARGUMENT', /at most 4096, found 4097/);
});

test('the log never holds a prompt or a text, even at its most talkative', async () => {
  const word = 'unmistakable';
  const { result } = await generate({
    prompt: word,
    model: 'spoken',
    temperature: 0,
    max_tokens: 30,
    stop: [`${word}s`],
  });
  await refused({ prompt: word, model: 'spoken', temperature: -1 }, 'ERR_INVALID_ARGUMENT', /temperature/);
  await client.encode(word, { model: 'spoken' });
  // The end of a connection is told at a level that only the talkative see.
  await (await daemon.client()).close();
  const deadline = performance.now() + 10_000;
  while (!daemon.stderr.includes('"level":20')) {
    assert.ok(performance.now() < deadline, 'the log is not talkative');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.not.ok(daemon.stderr.includes(word));
  assert.not.ok(result.text.length > 5 && daemon.stderr.includes(result.text));
});

test('an empty prompt with BOS is a prompt', async () => {
  const { result } = await generate({ prompt: '', model: 'spoken', max_tokens: 1 });
  assert.is(result.prompt_tokens, 1);
});

test.run();
