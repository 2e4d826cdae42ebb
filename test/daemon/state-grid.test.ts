/** Every method in every state that a connection can be in: each call ends, in the way its row says. */
import type { Client, SpikedError } from '../../client/index.js';
import { methods, type MethodName } from '../../client/protocol/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('state grid');
const endless = { tokens: [1], max_tokens: 1_000_000, ignore_eos: true };
const args = '--context 1048576 --max-tokens 1000000 --drain-ms 400'.split(' ');
let models: string[];
const daemons: DaemonProcess[] = [];

async function start(): Promise<DaemonProcess> {
  const daemon = await DaemonProcess.start([...models.flatMap((model) => ['--model', model]), ...args]);
  daemons.push(daemon);
  return daemon;
}

test.before(async () => {
  models = [
    await goldenModel(smallCase, { name: 'spoken', tokenizer: true }),
    await goldenModel(smallCase, { name: 'spare' }),
  ];
});
test.after(async () => {
  for (const daemon of daemons) await daemon.stop('SIGKILL');
});

/** How each method is called, and what is right about its answer. */
const calls: Record<MethodName, (client: Client) => Promise<unknown>> = {
  'server.info': (client) => client.serverInfo(),
  'server.memory': (client) => client.serverMemory(),
  'server.metrics': (client) => client.call('server.metrics', {}),
  'server.requests': (client) => client.serverRequests(),
  'model.list': (client) => client.listModels(),
  'model.load': (client) => client.loadModel('spare'),
  'model.unload': async (client) => {
    await client.loadModel('spare');
    return client.unloadModel('spare');
  },
  'tokens.encode': (client) => client.encode('the'),
  'tokens.decode': (client) => client.decode([5]),
  'text.generate': (client) => client.generate({ tokens: [1], max_tokens: 2 }).result,
  'text.cancel': (client) => client.call('text.cancel', { stream: 12345 }),
  'text.score': (client) => client.score({ tokens: [1, 2] }),
  'session.open': (client) => client.openSession(),
  'session.append': async (client) => (await client.openSession()).append([1, 2]),
  'session.generate': async (client) => {
    const session = await client.openSession();
    await session.append([1]);
    return session.generate({ max_tokens: 2 }).result;
  },
  'session.fork': async (client) => (await client.openSession()).fork(),
  'session.close': async (client) => (await client.openSession()).close(),
};
const names = Object.keys(methods) as MethodName[];

async function outcome(work: Promise<unknown>): Promise<string> {
  const late = new Promise<string>((resolve) => setTimeout(() => resolve('no answer'), 10_000));
  const ended = work.then(
    () => 'answer',
    (error: unknown) => (error as SpikedError).code,
  );
  return Promise.race([ended, late]);
}

async function row(expected: string, client: Client): Promise<void> {
  for (const name of names) assert.is(await outcome(calls[name](client)), expected, name);
}

test('idle', async () => {
  const client = await (await start()).client();
  await row('answer', client);
  await client.close();
});

test('generating, and the generation goes on', async () => {
  const client = await (await start()).client();
  const generation = client.generate(endless);
  const iterator = generation[Symbol.asyncIterator]();
  await iterator.next();
  await row('answer', client);
  assert.is(await outcome(client.unloadModel('spoken')), 'ERR_MODEL_BUSY');
  assert.not.ok((await iterator.next()).done);
  await generation.cancel();
  assert.is((await generation.result).stop_reason, 'cancelled');
  await client.close();
});

test('cancelled', async () => {
  const client = await (await start()).client();
  const generation = client.generate(endless);
  await generation[Symbol.asyncIterator]().next();
  assert.is(await generation.cancel(), true);
  await row('answer', client);
  assert.is((await generation.result).stop_reason, 'cancelled');
  await client.close();
});

test('stopping: refused, but for text.cancel', async () => {
  const daemon = await start();
  const client = await daemon.client();
  const generation = client.generate({ ...endless });
  await generation[Symbol.asyncIterator]().next();
  const ended = daemon.stop();
  while (!daemon.stderr.includes('"stopping"')) await new Promise((resolve) => setTimeout(resolve, 5));
  const outcomes = await Promise.all(names.map(async (name) => [name, await outcome(calls[name](client))]));
  for (const [name, found] of outcomes)
    assert.is(found, name === 'text.cancel' ? 'answer' : 'ERR_SHUTTING_DOWN', name);
  assert.is((await generation.result).stop_reason, 'cancelled');
  assert.is((await ended).code, 0);
});

test('closed by the client', async () => {
  const client = await (await start()).client();
  await client.close();
  await row('ERR_CONNECTION_LOST', client);
});

test('killed in the middle of every call', async () => {
  const daemon = await start();
  const client = await daemon.client();
  const generations = [1, 2, 3, 4, 5, 6].map(() => client.generate(endless));
  const first = generations[0]?.[Symbol.asyncIterator]().next();
  const loops = generations.map(async (generation) => {
    for await (const event of generation) if (event.seq < 0) break;
  });
  const streams = [...loops, ...generations.map(({ result }) => result)].map(outcome);
  await first;
  const pending = names.map((name) => outcome(calls[name](client)));
  daemon.child.kill('SIGKILL');
  for (const found of await Promise.all(streams)) assert.is(found, 'ERR_CONNECTION_LOST');
  for (const found of await Promise.all(pending))
    assert.ok(['answer', 'ERR_CONNECTION_LOST'].includes(found), found);
  await client.closed;
  await row('ERR_CONNECTION_LOST', client);
});

test.run();
