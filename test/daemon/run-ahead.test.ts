/** The engine does not wait for the daemon: every answer is the one of an engine that is asked step by step. */
import type { Client, TokenEvent } from '../../client/index.js';
import { addon, openTokenizer, type NativeModel, type Tokenizer } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { eosId, sentencePieceModel } from './helpers/sentencepiece.js';

const test = suite('run ahead');
const prompt = [1, 20, 270];
const engine = addon().openEngine({ threads: 1 });
let model: NativeModel;
let tokenizer: Tokenizer;
let daemon: DaemonProcess;
let client: Client;

interface Request {
  seed: number;
  temperature: number;
  max_tokens: number;
  stop?: string[];
  ignore_eos?: boolean;
}

/** What a generation comes to, whatever the clock says. */
interface Outcome {
  tokens: number[];
  text: string;
  reason: string;
  stop: string | undefined;
  logprobs: number[];
  activity: { mixer: number; ffn: number };
  steps: number;
  bytes: number;
}

/** By one call a step, none of them for nothing. */
async function stepByStep(request: Request): Promise<Outcome> {
  const session = model.openSession();
  session.seed(BigInt(request.seed));
  const sampling = { ...common, temperature: request.temperature };
  const detokenizer = tokenizer.detokenizer();
  for (const id of prompt) detokenizer.push(id);
  const tokens: number[] = [];
  const logprobs: number[] = [];
  let [text, reason, bytes] = ['', '', 0];
  let stop: string | undefined;
  for (let next = Int32Array.from(prompt); reason === ''; next = Int32Array.of(tokens.at(-1) ?? 0)) {
    const step = await session.step(next, sampling, { logprob: true });
    tokens.push(step.id);
    logprobs.push(step.logprob ?? NaN);
    bytes += step.head.bytes;
    const isEos = step.id === eosId && request.ignore_eos !== true;
    if (!isEos) text += detokenizer.push(step.id);
    stop = request.stop?.find((word) => text.includes(word));
    if (stop !== undefined) reason = 'stop';
    else if (isEos) reason = 'eos';
    else if (tokens.length === request.max_tokens) reason = 'length';
  }
  text = stop === undefined ? text + detokenizer.end() : text.slice(0, text.indexOf(stop));
  const { mixerActive, mixerTotal, ffnActive, ffnTotal } = session.stats();
  session.close();
  const activity = { mixer: mixerActive / mixerTotal, ffn: ffnActive / ffnTotal };
  return { tokens, text, reason, stop, logprobs, activity, steps: tokens.length, bytes };
}

const common = {
  topK: 0,
  topP: 1,
  repetitionPenalty: 1.1,
  adaptiveTemperature: false,
  bannedIds: new Int32Array(),
};

function generate(request: Request) {
  const settings = { top_k: 0, top_p: 1, repetition_penalty: 1.1, logprobs: true };
  return client.generate({ tokens: prompt, ...settings, ...request });
}

async function throughDaemon(request: Request): Promise<Outcome> {
  const generation = generate(request);
  const events: TokenEvent[] = [];
  for await (const event of generation) events.push(event);
  const result = await generation.result;
  assert.equal(
    events.map(({ token }) => token),
    result.tokens,
  );
  assert.is(events.map(({ text }) => text).join(''), result.text);
  assert.is(result.generated_tokens, result.tokens.length);
  return {
    tokens: result.tokens,
    text: result.text,
    reason: result.stop_reason,
    stop: result.stop,
    logprobs: events.map(({ logprob }) => logprob ?? NaN),
    activity: result.activity,
    steps: result.head.steps,
    bytes: result.head.bytes,
  };
}

/** What requests read together counts in equal parts. */
function assertSameAmongOthers(found: Outcome | undefined, expected: Outcome): void {
  const { bytes = 0, ...rest } = found ?? {};
  const { bytes: bytesAlone, ...restAlone } = expected;
  assert.equal(rest, restAlone);
  assert.ok(bytes > 0 && bytes <= bytesAlone, `${String(bytes)} bytes, ${String(bytesAlone)} alone`);
}

test.before(async () => {
  const path = await goldenModel(smallCase, { tokenizer: true });
  tokenizer = await openTokenizer(sentencePieceModel());
  model = await engine.openModel(path);
  daemon = await DaemonProcess.start([
    '--model',
    path,
    '--max-queue',
    '1000',
    '--max-connection-queue',
    '1000',
  ]);
  client = await daemon.client();
});
test.after(async () => {
  model.close();
  engine.close();
  await tokenizer.close();
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

/** Requests that end in the middle for every reason there is. */
async function requests(): Promise<{ request: Request; expected: Outcome }[]> {
  const found: { request: Request; expected: Outcome }[] = [];
  for (let seed = 1; found.filter(({ expected }) => expected.reason === 'eos').length < 4; seed++) {
    const free = { seed, temperature: 100, max_tokens: 150 };
    const expected = await stepByStep(free);
    if (expected.reason === 'eos' || seed <= 3) found.push({ request: free, expected });
    if (seed > 3) continue;
    const { text } = await stepByStep({ ...free, ignore_eos: true });
    for (const at of [3, Math.floor(text.length / 2), text.length - 4]) {
      const request = { ...free, ignore_eos: true, stop: [text.slice(at, at + 2), 'never said'] };
      found.push({ request, expected: await stepByStep(request) });
    }
  }
  for (const max_tokens of [1, 2, 7]) {
    const request = { seed: 5, temperature: 0, max_tokens, ignore_eos: true };
    found.push({ request, expected: await stepByStep(request) });
  }
  return found;
}

test('each alone, all at once, and one after the other from several sides', async () => {
  const all = await requests();
  const reasons = new Set(all.map(({ expected }) => expected.reason));
  assert.equal([...reasons].sort(), ['eos', 'length', 'stop']);
  for (const { request, expected } of all) assert.equal(await throughDaemon(request), expected);
  const together = await Promise.all(all.map(({ request }) => throughDaemon(request)));
  for (const [i, { expected }] of all.entries()) assertSameAmongOthers(together[i], expected);
});

test('cancelled in the middle: a beginning of the same, and the next request is as with a fresh daemon', async () => {
  const request = { seed: 9, temperature: 1, max_tokens: 180, ignore_eos: true };
  const expected = await stepByStep(request);
  for (const after of [1, 2, 5, 20, 60]) {
    const generation = generate(request);
    let n = 0;
    for await (const event of generation) {
      assert.is(event.token, expected.tokens[n]);
      if (++n === after) void generation.cancel();
    }
    const result = await generation.result;
    assert.is(result.tokens.length, n);
    assert.equal(result.tokens, expected.tokens.slice(0, n));
    assert.is(result.head.steps, n);
    const beginning = await stepByStep({ ...request, max_tokens: n });
    assert.equal(result.activity, beginning.activity, 'of what was told, no more');
    assert.equal(await throughDaemon(request), expected);
  }
});

test('a burst of many short requests', async () => {
  const seeds = Array.from({ length: 300 }, (_, i) => i);
  const burst = seeds.map((seed) => ({ seed, temperature: 1, max_tokens: 1 + (seed % 5), ignore_eos: true }));
  const outcomes = await Promise.all(burst.map((request) => throughDaemon(request)));
  for (const [i, request] of burst.entries()) assertSameAmongOthers(outcomes[i], await stepByStep(request));
});

test.run();
