/** Sessions through the daemon: whatever the calls, the ids are those of one text.generate over the same text. */
import {
  SpikedError,
  type Client,
  type ErrorCode,
  type Session,
  type TokenEvent,
} from '../../client/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, greedyCases, smallCase, smallContext } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';
import { bosId } from './helpers/sentencepiece.js';

const test = suite('sessions');
let daemon: DaemonProcess;
let client: Client;
/** The same without an end to its context. */
let endless: DaemonProcess;
let far: Client;

test.before(async () => {
  const bare = await goldenModel(smallCase, { name: 'bare' });
  const spoken = await goldenModel(smallCase, { name: 'spoken', tokenizer: true });
  daemon = await DaemonProcess.start([
    ...['--model', spoken, '--model', bare, '--prefix-cache', '16'],
    ...['--max-sessions', '6', '--max-connection-sessions', '4'],
  ]);
  client = await daemon.client();
  endless = await DaemonProcess.start([
    ...['--model', bare, '--context', '1000000', '--max-tokens', '1000000', '--max-unread-bytes', '4096'],
    ...['--max-connection-active', '1'],
  ]);
  far = await endless.client();
});
test.after(async () => {
  await client.close();
  await far.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
  assert.is((await endless.stop()).code, 0, endless.stderr);
});

const free = { temperature: 3, top_k: 0, top_p: 1, repetition_penalty: 1.2, ignore_eos: true };
const greedy = { temperature: 0, ignore_eos: true };

async function refused(call: Promise<unknown>, code: ErrorCode, text: RegExp): Promise<void> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, SpikedError);
  assert.is((error as SpikedError).code, code, (error as SpikedError).message);
  assert.match((error as SpikedError).message, text);
}

/** What one text.generate says after these ids. */
async function once(tokens: number[], max_tokens: number, params: object): Promise<number[]> {
  return (await client.generate({ tokens, max_tokens, ...params }).result).tokens;
}

/** Waits until no state is held any more. */
async function forgotten(of: Client): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if ((await of.serverMemory()).session_bytes === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('expected no session, found some');
}

const ids = (n: number, from = 0): number[] =>
  Array.from({ length: n }, (_, i) => (i * 37 + 11 + from) % 500);

async function withSession(body: (session: Session) => Promise<void>, params = {}): Promise<void> {
  const session = await client.openSession(params);
  try {
    await body(session);
  } finally {
    await session.close();
  }
}

test('parts appended are one prompt; greedy ids are those of the reference', async () => {
  for (const { prompt, greedy: expected } of greedyCases(smallCase)) {
    for (const part of [1, 3, 32, 33, 1000]) {
      const feed = async (session: Session): Promise<void> => {
        for (let at = 0; at < prompt.length; at += part) {
          const { position, appended_tokens } = await session.append(prompt.slice(at, at + part));
          assert.is(position, Math.min(at + part, prompt.length));
          assert.is(appended_tokens, Math.min(part, prompt.length - at));
        }
        const { tokens } = await session.generate({ ...greedy, max_tokens: expected.length }).result;
        assert.equal(tokens, expected);
      };
      await withSession(feed, { model: 'bare' });
    }
  }
});

test('generations one after the other are one: the generator goes on, and what was generated is fed', async () => {
  const prompt = ids(40);
  const expected = await once(prompt, 60, { ...free, seed: 9 });
  await withSession(
    async (session) => {
      await session.append(prompt);
      const found: number[] = [];
      for (const max_tokens of [1, 2, 20, 1, 36]) {
        const result = await session.generate({ ...free, max_tokens }).result;
        assert.is(result.prompt_tokens, prompt.length + found.length);
        assert.is(result.cached_tokens, result.prompt_tokens - 1, 'all but the last id were kept');
        const again = await once([...prompt, ...found], max_tokens, { ...free, seed: result.seed });
        assert.equal(again, result.tokens, 'the seed that is told repeats it');
        found.push(...result.tokens);
      }
      assert.equal(found, expected);
    },
    { seed: 9 },
  );
});

test('appended and generated ids in turn', async () => {
  await withSession(async (session) => {
    let text: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const added = ids(turn * 9 + 1, turn);
      await session.append(added);
      text = [...text, ...added];
      const { tokens, activity } = await session.generate({ ...free, seed: turn, max_tokens: 7 }).result;
      assert.equal(tokens, await once(text, 7, { ...free, seed: turn }), `turn ${String(turn)}`);
      assert.ok(activity.mixer > 0 && activity.mixer < 1);
      text = [...text, ...tokens];
    }
  });
});

test('stop strings end a text at their last id; cancels at the last that was told: both go on from there', async () => {
  const prompt = ids(20);
  const whole = await client.generate({ tokens: prompt, ...free, seed: 4, max_tokens: 120 }).result;
  await withSession(
    async (session) => {
      await session.append(prompt);
      const found: number[] = [];
      for (let at = 10; at < 60; at += 17) {
        const result = await session.generate({ ...free, stop: [whole.text.slice(at, at + 2)] }).result;
        assert.is(result.stop_reason, 'stop');
        found.push(...result.tokens);
      }
      while (found.length < 110) {
        const generation = session.generate({ ...free, max_tokens: 120 - found.length });
        const events: TokenEvent[] = [];
        for await (const event of generation) {
          events.push(event);
          if (events.length === 3) void generation.cancel();
        }
        const result = await generation.result;
        assert.ok(['cancelled', 'length'].includes(result.stop_reason));
        assert.equal(
          events.map(({ token }) => token),
          result.tokens,
        );
        const told = events.map(({ text }) => text).join('');
        // Of an id whose UTF-8 sequence went on, no event can tell any more.
        const rest = result.stop_reason === 'cancelled' ? /^\ufffd*$/ : /^$/;
        assert.is(result.text.slice(0, told.length), told);
        assert.match(result.text.slice(told.length), rest);
        found.push(...result.tokens);
        assert.equal(found, whole.tokens.slice(0, found.length));
      }
      const { position } = await session.append([7]);
      assert.is(position, prompt.length + found.length + 1);
      const { tokens } = await session.generate({ ...free, seed: 1, max_tokens: 3 }).result;
      assert.equal(tokens, await once([...prompt, ...found, 7], 3, { ...free, seed: 1 }));
    },
    { seed: 4 },
  );
});

test('so does a time limit, and one of text.generate gives what there is', async () => {
  const prompt = [1, 2, 3];
  const params = { ...free, seed: 2, max_tokens: 1_000_000 };
  const session = await far.openSession();
  await session.append(prompt);
  const first = await session.generate({ ...params, timeout_ms: 60 }).result;
  assert.is(first.stop_reason, 'timeout');
  const second = await session.generate({ ...free, seed: 3, max_tokens: 5 }).result;
  const whole = await far.generate({ tokens: prompt, ...params, max_tokens: first.tokens.length }).result;
  assert.equal(whole.tokens, first.tokens);
  const after = { tokens: [...prompt, ...first.tokens], ...free, seed: 3, max_tokens: 5 };
  assert.equal((await far.generate(after).result).tokens, second.tokens);
  const alone = await far.generate({ tokens: prompt, ...params, timeout_ms: 60 }).result;
  assert.is(alone.stop_reason, 'timeout');
  assert.is(alone.tokens.length, alone.generated_tokens);
  const many = Array.from({ length: 4000 }, (_, i) => i % 500);
  await refused(far.score({ tokens: many, timeout_ms: 1 }), 'ERR_TIMEOUT', /text.score: .* 1 ms/);
  assert.is((await far.score({ tokens: [1, 2] })).tokens.length, 2);
  await session.close();
});

test('an append ends with its time: what was appended is told, and the rest goes on from there', async () => {
  const text = Array.from({ length: 4000 }, (_, i) => i % 500);
  let partly = 0;
  // Which limit comes in the middle of the work depends on the machine.
  for (let tries = 0; partly === 0 && tries < 10; tries++) {
    const session = await far.openSession();
    for (let at = 0, timeout_ms = 1; at < text.length; timeout_ms *= 2) {
      const rest = text.slice(at);
      const result = await session.append(rest, { timeout_ms });
      assert.is(result.timed_out, result.appended_tokens < rest.length);
      at += result.appended_tokens;
      assert.is(result.position, at);
      if (result.timed_out && result.appended_tokens > 0) partly++;
    }
    const { tokens } = await session.generate({ ...free, seed: 1, max_tokens: 5 }).result;
    assert.equal(
      tokens,
      (await far.generate({ tokens: text, ...free, seed: 1, max_tokens: 5 }).result).tokens,
    );
    await session.close();
  }
  assert.ok(partly > 0);
});

test('an append whose time is up before its turn adds nothing', async () => {
  const session = await far.openSession();
  await session.append([1]);
  const busy = far.generate({ tokens: [1], ...greedy, max_tokens: 1_000_000 });
  await busy[Symbol.asyncIterator]().next();
  const result = await session.append([2, 3], { timeout_ms: 20 });
  assert.equal(result, {
    ...{ session: session.id, appended_tokens: 0, cached_tokens: 0, position: 1 },
    timed_out: true,
  });
  void busy.cancel();
  await busy.result;
  assert.equal((await session.append([2, 3], { timeout_ms: 60_000 })).position, 3);
  await session.close();
});

test('an append that a close ends says so', async () => {
  const session = await far.openSession();
  const busy = far.generate({ tokens: [1], ...greedy, max_tokens: 1_000_000 });
  await busy[Symbol.asyncIterator]().next();
  const append = refused(session.append([2]), 'ERR_CANCELLED', /^session.append: session \d+ was closed$/);
  await session.close();
  await append;
  void busy.cancel();
  await busy.result;
});

test('a reader that stays behind and then cancels leaves the session at what it was told', async () => {
  const raw = await RawClient.connect(endless.path);
  raw.send(0, 1, 'session.open', [{ seed: 3 }]);
  const { session } = await raw.result(1);
  raw.send(0, 2, 'session.append', [{ session, tokens: ids(5) }]);
  await raw.result(2);
  raw.socket.pause();
  raw.send(0, 3, 'session.generate', [{ session, stream: 1, ...free, max_tokens: 1_000_000 }]);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  raw.send(2, 'text.cancel', [{ stream: 1 }]);
  raw.socket.resume();
  const result = await raw.result(3);
  assert.is(result['stop_reason'], 'cancelled');
  const told = raw.events('text.token').map((event) => event['token'] as number);
  assert.equal(result['tokens'], told);
  raw.send(0, 4, 'session.generate', [{ session, stream: 1, ...greedy, max_tokens: 3 }]);
  const { tokens } = await raw.result(4);
  // A message holds so many ids at most.
  const before = [...ids(5), ...told];
  const other = await far.openSession();
  for (let at = 0; at < before.length; at += 4000) await other.append(before.slice(at, at + 4000));
  assert.equal((await other.generate({ ...greedy, max_tokens: 3 }).result).tokens, tokens);
  await other.close();
  raw.close();
});

test('a fork goes on by itself, and its origin, too', async () => {
  await withSession(
    async (session) => {
      await session.append(ids(50));
      const start = (await session.generate({ ...free, max_tokens: 5 }).result).tokens;
      const fork = await session.fork();
      const text = [...ids(50), ...start];
      const own = (await session.generate({ ...free, max_tokens: 9 }).result).tokens;
      const forked = (await fork.generate({ ...free, max_tokens: 9 }).result).tokens;
      assert.equal(forked, own, 'the generator is copied');
      await fork.append([3]);
      const other = (await fork.generate({ ...free, seed: 1, max_tokens: 4 }).result).tokens;
      assert.equal(other, await once([...text, ...own, 3], 4, { ...free, seed: 1 }));
      const more = (await session.generate({ ...free, seed: 1, max_tokens: 4 }).result).tokens;
      assert.equal(more, await once([...text, ...own], 4, { ...free, seed: 1 }));
      await fork.close();
    },
    { seed: 6 },
  );
});

test('texts are tokenized each on its own, the first with BOS; generated text joins on', async () => {
  await withSession(async (session) => {
    const first = await client.encode('the sea', { bos: true });
    const then = await client.encode(' and', { bos: false });
    assert.is((await session.append('the sea')).position, first.length);
    assert.is((await session.append(' and')).appended_tokens, then.length);
    const result = await session.generate({ ...greedy, max_tokens: 6 }).result;
    const whole = client.generate({ tokens: [...first, ...then], ...greedy, max_tokens: 6 });
    assert.equal(result.tokens, (await whole.result).tokens);
    assert.is(result.text, (await whole.result).text);
    assert.is(first[0], bosId);
  });
});

test('a prompt that began like an earlier one is taken over, and that is told', async () => {
  const prompt = ids(100, 3);
  await withSession(async (session) => {
    assert.is((await session.append(prompt)).cached_tokens, 0);
  });
  await withSession(async (session) => {
    assert.is((await session.append(prompt)).cached_tokens, 96);
    const result = await session.generate({ ...free, seed: 2, max_tokens: 4 }).result;
    assert.equal(result.tokens, await once(prompt, 4, { ...free, seed: 2 }));
  });
});

test('what does not fit is refused and changes nothing', async () => {
  await withSession(async (session) => {
    await refused(session.generate().result, 'ERR_PROMPT_EMPTY', /session \d+: expected at least one token/);
    await refused(session.append([]), 'ERR_PROMPT_EMPTY', /prompt/);
    await session.append(ids(smallContext - 4));
    await refused(session.append(ids(5)), 'ERR_CONTEXT_FULL', /at most 4 tokens .*found 5/);
    await refused(session.append([1, 512]), 'ERR_TOKEN_UNKNOWN', /512/);
    const call = { session: session.id, prompt: 'a', tokens: [1] };
    await refused(client.call('session.append', call), 'ERR_INVALID_ARGUMENT', /found "prompt" and "tokens"/);
    const result = await session.generate({ ...greedy, max_tokens: 50 }).result;
    assert.is(result.stop_reason, 'length');
    assert.is(result.generated_tokens, 4);
    await refused(session.generate().result, 'ERR_CONTEXT_FULL', /fewer than the 192 tokens/);
    assert.equal(result.tokens, await once(ids(smallContext - 4), 4, greedy));
  });
});

test('one call at a time; a close ends the one under way', async () => {
  const session = await far.openSession();
  await session.append([1]);
  const generation = session.generate({ ...greedy, max_tokens: 1_000_000 });
  await generation[Symbol.asyncIterator]().next();
  await refused(session.append([2]), 'ERR_BUSY', /session \d+: expected no other call/);
  await refused(session.fork(), 'ERR_BUSY', /session/);
  const closed = await session.close();
  const result = await generation.result;
  assert.is(result.stop_reason, 'cancelled');
  assert.is(closed.position, 1 + result.generated_tokens);
  await refused(session.append([1]), 'ERR_SESSION_CLOSED', /expected an open session of this connection/);
  await refused(session.close(), 'ERR_SESSION_CLOSED', /session.close/);
});

test('too many are refused, of a connection and of all; a connection takes its own with it', async () => {
  const other = await daemon.client();
  for (let i = 0; i < 4; i++) await other.openSession();
  await refused(other.openSession(), 'ERR_BUSY', /at most 4 sessions of a connection, found 4/);
  const own = [await client.openSession(), await client.openSession()];
  await refused(client.openSession(), 'ERR_BUSY', /at most 6 sessions, found 6/);
  await refused(client.unloadModel('spoken'), 'ERR_MODEL_BUSY', /spoken/);
  assert.ok((await client.serverMemory()).session_bytes > 0);
  const [first] = own;
  assert.ok(first);
  await refused(other.call('session.close', { session: first.id }), 'ERR_SESSION_CLOSED', /this connection/);
  await other.close();
  for (const session of own) await session.close();
  while ((await client.serverMemory()).session_bytes > 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
});

test('a connection that vanishes ends its sessions, whatever they are at', async () => {
  const calls = {
    'session.append': { tokens: ids(4000) },
    'session.generate': { stream: 1, ignore_eos: true, max_tokens: 1_000_000 },
    'session.fork': {},
  };
  for (const [method, params] of Object.entries(calls)) {
    const raw = await RawClient.connect(endless.path);
    raw.send(0, 1, 'session.open', [{}]);
    const { session } = await raw.result(1);
    raw.send(0, 2, 'session.append', [{ session, tokens: [1] }]);
    await raw.result(2);
    raw.send(0, 3, method, [{ session, ...params }]);
    await new Promise((resolve) => setTimeout(resolve, 2));
    raw.close();
  }
  await forgotten(far);
});

test('an idle session expires and says so; one that is used does not', async () => {
  const idle = await client.openSession({ idle_timeout_ms: 150 });
  const used = await client.openSession({ idle_timeout_ms: 400 });
  const expired = new Promise<void>((resolve) => (idle.onExpired = resolve));
  let lost = false;
  used.onExpired = () => (lost = true);
  const until = performance.now() + 800;
  while (performance.now() < until) {
    await used.append([1]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await expired;
  await refused(idle.append([1]), 'ERR_SESSION_CLOSED', /session/);
  assert.not.ok(lost);
  await used.close();
});

test.run();
