import { SpikedError } from '../../client/index.js';
import {
  methods,
  parseEnvelope,
  parseParams,
  parseResult,
  type MethodName,
} from '../../client/protocol/index.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('parameters');

function refused(method: MethodName, params: unknown): string {
  try {
    parseParams(method, params);
  } catch (error) {
    if (error instanceof SpikedError && error.code === 'ERR_INVALID_ARGUMENT') return error.message;
    throw error;
  }
  throw new Error(`expected ${method} to refuse ${JSON.stringify(params)}`);
}

const generate = (extra: object): string => refused('text.generate', { stream: 1, prompt: 'x', ...extra });

test('defaults of text.generate', () => {
  assert.equal(parseParams('text.generate', { stream: 1, prompt: 'x' }), {
    stream: 1,
    prompt: 'x',
    max_tokens: 128,
    temperature: 0.8,
    top_k: 50,
    top_p: 0.9,
    repetition_penalty: 1,
    adaptive_temperature: false,
    stop: [],
    banned: [],
    bos: true,
    ignore_eos: false,
    logprobs: false,
    drafts: false,
    head: {
      mode: 'full',
      activations: 'i8',
      scope: 'projection',
      k: 32,
      threshold: 0.5,
      trace: false,
    },
  });
});

test('errors name method, key, what was expected and what was found', () => {
  assert.is(generate({ temperature: 'hot' }), 'text.generate: "temperature": expected number, found "hot"');
  assert.is(
    generate({ max_tokens: 0 }),
    'text.generate: "max_tokens": expected a number at least 1, found 0',
  );
  assert.is(generate({ top_p: 1.5 }), 'text.generate: "top_p": expected a number at most 1, found 1.5');
  assert.is(generate({ max_tokens: 1.5 }), 'text.generate: "max_tokens": expected int, found 1.5');
  assert.is(generate({ stop: ['a', 3] }), 'text.generate: "stop"[1]: expected string, found 3');
  assert.is(
    generate({ prompt: Buffer.from('x') }),
    'text.generate: "prompt": expected string, found 1 bytes of binary',
  );
  assert.is(generate({ foo: 1 }), 'text.generate: unknown parameter "foo"');
  assert.is(refused('model.load', {}), 'model.load: "model": expected string, found nothing');
  assert.is(
    refused('server.info', [1]),
    'server.info: parameters: expected object, found an array of 1 items',
  );
  assert.match(
    generate({ stop: ['é'.repeat(129)] }),
    /"stop"\[0\]: expected at most 256 bytes, found "é+…"$/,
  );
  assert.match(generate({ stop: new Array<string>(17).fill('a') }), /"stop": expected at most 16 items/);
  assert.match(generate({ stop: [''] }), /"stop"\[0\]: expected at least 1 characters, found ""/);
});

test('no error repeats a long value', () => {
  const secret = 'p'.repeat(10_000);
  assert.ok(generate({ bos: secret }).length < 200);
  assert.ok(generate({ [secret]: 1 }).length < 200);
  assert.ok(generate({ temperature: secret }).length < 200);
});

test('edges of numbers', () => {
  for (const bad of [NaN, Infinity, -Infinity, -1, '1', null, 1n]) {
    assert.match(generate({ temperature: bad }), /"temperature"/);
  }
  for (const bad of [-1, 2 ** 31, 1.5, NaN]) assert.match(generate({ banned: [bad] }), /"banned"\[0\]/);
  for (const bad of [-1, 1.5, 2n ** 64n, -1n, 'x']) assert.match(generate({ seed: bad }), /"seed"/);
  for (const good of [0, Number.MAX_SAFE_INTEGER, 2n ** 64n - 1n]) {
    assert.is(parseParams('text.generate', { stream: 1, seed: good }).seed, good);
  }
  for (const bad of [-1, 2 ** 32, 1.5, '', 'x'.repeat(65), 'é'.repeat(33), null, [1]]) {
    assert.match(refused('text.cancel', { stream: bad }), /"stream"/);
  }
  for (const good of [0, 2 ** 32 - 1, 'a', 'é'.repeat(32)]) {
    assert.is(parseParams('text.cancel', { stream: good }).stream, good);
  }
});

test('every method refuses unknown keys and anything but a map', () => {
  for (const method of Object.keys(methods) as MethodName[]) {
    for (const bad of [null, 1, 'x', [], true]) refused(method, bad);
    assert.match(refused(method, { unheard_of: 1 }), new RegExp(`^${method}: `));
  }
});

test('answers may have more keys than a client knows, not fewer', () => {
  assert.equal(parseResult('text.cancel', { cancelled: true, newer: 1 }), { cancelled: true });
  assert.throws(
    () => parseResult('text.cancel', {}),
    (error: SpikedError) => error.code === 'ERR_RPC_INVALID' && error.message.includes('"cancelled"'),
  );
});

test('the three forms of a message, and what is none of them', () => {
  assert.equal(parseEnvelope([0, 5, 'm', []]), { kind: 'request', id: 5, method: 'm', params: [] });
  assert.equal(parseEnvelope([1, 5, null, 1]), { kind: 'response', id: 5, error: null, result: 1 });
  assert.equal(parseEnvelope([2, 'm', []]), { kind: 'notification', method: 'm', params: [] });
  const idOf = (message: unknown): number | null | 'valid' => {
    const envelope = parseEnvelope(message);
    return envelope.kind === 'invalid' ? envelope.id : 'valid';
  };
  for (const message of [
    null,
    1,
    {},
    [],
    [3, 1, 'm', []],
    [0],
    [0, -1, 'm', []],
    [0, 1.5, 'm', []],
    [0, 2 ** 32, 'm', []],
  ]) {
    assert.is(idOf(message), null, JSON.stringify(message));
  }
  for (const message of [
    [0, 2n ** 40n, 'm', []],
    [0, 'x', 'm', []],
    [2, 'm'],
    [1, 5],
  ])
    assert.is(idOf(message), null);
  assert.is(idOf([0, 5, 'm']), 5);
  assert.is(idOf([0, 5, 'm', [], 1]), 5);
});

test.run();
