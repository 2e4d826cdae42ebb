/** One client with many requests, another with few. */
import type { Client, SpikedError } from '../../client/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('fairness');
let daemon: DaemonProcess;
let greedy: Client;
let modest: Client;

test.before(async () => {
  daemon = await DaemonProcess.start([
    ...['--model', await goldenModel(smallCase), '--context', '1000000', '--max-tokens', '1000000'],
    ...['--max-active', '2', '--max-connection-queue', '62', '--prefix-cache', '0'],
  ]);
  greedy = await daemon.client();
  modest = await daemon.client();
});
test.after(async () => {
  await greedy.close();
  await modest.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

const endless = { tokens: [1], max_tokens: 1_000_000, ignore_eos: true };

test('64 endless requests of one client keep no other one from its tokens, and are bounded', async () => {
  const many = Array.from({ length: 64 }, () => greedy.generate(endless));
  const [first] = many;
  await first?.[Symbol.asyncIterator]().next();
  const refused = await greedy.generate(endless).result.then(
    () => null,
    (error: unknown) => error as SpikedError,
  );
  assert.is(refused?.code, 'ERR_BUSY');
  assert.match(refused?.message ?? '', /at most 2 active and 62 waiting of one connection, found 62 waiting/);
  for (let i = 0; i < 3; i++) {
    const few = modest.generate({ ...endless, max_tokens: 5 }, { timeoutMs: 20_000 });
    const { tokens } = await few.result;
    assert.is(tokens.length, 5);
  }
  assert.is((await modest.score({ tokens: [1, 2, 3] })).tokens.length, 3);
  const session = await modest.openSession();
  await session.append([1, 2]);
  assert.is((await session.generate({ max_tokens: 3, ignore_eos: true }).result).tokens.length, 3);
  await session.close();
  await Promise.all(many.map((generation) => generation.cancel()));
  for (const { result } of many) assert.is((await result).stop_reason, 'cancelled');
});

test('a long prompt and a long score let tokens of others through', async () => {
  const prompt = Array.from({ length: 4000 }, (_, i) => (i * 37) % 500);
  for (const work of [
    () => greedy.generate({ ...endless, tokens: prompt, max_tokens: 1 }).result,
    () => greedy.score({ tokens: prompt }),
  ]) {
    const state = { over: false };
    const long = work().then(() => (state.over = true));
    const meanwhile: number[] = [];
    for await (const event of modest.generate(endless)) {
      if (state.over) break;
      meanwhile.push(event.token);
    }
    await long;
    assert.ok(meanwhile.length >= 20, `${String(meanwhile.length)} tokens during 125 passes`);
  }
});

test.run();
