/** Every argument of the addon, wrong in every way: one error that names it, what was expected and what was found. */
import { SpikedError } from '../../client/protocol/errors.js';
import { addon } from '../../native/host/addon.js';
import { assert, suite } from '../tools/suite.js';
import { greedy, modelFile, withSession } from '../session/runs.js';
import { failureOf } from './helpers/failure.js';

const test = suite('addon arguments');
const native = addon();

/** Calls a method as its type forbids: with any arguments, on any object. */
function call(target: object, method: string, args: unknown[] = [], self: object = target): unknown {
  const found = (target as Record<string, unknown>)[method];
  if (typeof found !== 'function') throw new Error(`${method}: no such method`);
  return Reflect.apply(found, self, args) as unknown;
}

async function refuses(target: object, method: string, args: unknown[], message: RegExp): Promise<void> {
  const error = await failureOf(() => call(target, method, args));
  const what = `${method}(${args.map(String).join(', ')}): ${error.message}`;
  assert.ok(error instanceof SpikedError, what);
  assert.is(error.code, 'ERR_INVALID_ARGUMENT', what);
  assert.is(error.name, 'SpikedTypeError', what);
  assert.match(error.message, message);
}

test('openEngine', async () => {
  const cases: [unknown, RegExp][] = [
    [undefined, /^options: expected an object, found undefined$/],
    [{ threads: 0 }, /found 0$/],
    [{ threads: 257 }, /found 257$/],
    [{ threads: 1.5 }, /found 1\.5$/],
    [{ threads: NaN }, /found NaN$/],
    [{ threads: '2' }, /found "2"$/],
    [{ threads: 2n }, /found 2n$/],
    [{ threads: 1, isa: 7 }, /^options\.isa: expected a string, found 7$/],
    [{ threads: 1, isa: null }, /^options\.isa: expected a string, found null$/],
    [{ cpus: 4 }, /^options\.cpus: expected a string, found 4$/],
    [{ cpus: '4-' }, /^cpus: expected a list such as "4-7" or "0,2", found "4-"$/],
    [{ cpus: '4095' }, /^cpus: expected some of [\d,-]+, which this process may use, found 4095$/],
    [
      { loading: 'lazily' },
      /^options\.loading: expected "readahead", "prefault", "huge_pages" or "locked", found "lazily"$/,
    ],
  ];
  for (const [options, message] of cases) await refuses(native, 'openEngine', [options], message);
  const throws = {
    get threads(): number {
      throw new Error('mine');
    },
  };
  await refuses(native, 'openEngine', [throws], /^options\.threads: .* found one that throws "mine"$/);
  const unknown = await failureOf(() => native.openEngine({ threads: 1, isa: 'abacus' }));
  assert.is(unknown.code, 'ERR_ISA_UNSUPPORTED');
});

test('paths', async () => {
  const engine = native.openEngine({ threads: 1 });
  for (const [target, method] of [
    [engine, 'openModel'],
    [native, 'describeFile'],
  ] as const) {
    await refuses(target, method, [], /^path: expected a string, found undefined$/);
    await refuses(target, method, [Buffer.from('x')], /^path: expected a string, found a Uint8Array$/);
    await refuses(target, method, ['a\0b'], /^path: expected a string without NUL, found one at byte 1$/);
    const missing = await failureOf(() => call(target, method, ['/nowhere/at-all.gguf']));
    assert.is(missing.code, 'ERR_FILE_NOT_FOUND');
    assert.match(missing.message, /nowhere/);
  }
  engine.close();
});

test('forward', async () => {
  await withSession(modelFile({}), async (session) => {
    const ids = Int32Array.of(1);
    const cases: [unknown[], RegExp][] = [
      [[], /^ids: expected an Int32Array, found undefined$/],
      [[[1, 2], { logits: 'last' }], /^ids: expected an Int32Array, found an Array$/],
      [[new Uint32Array(1), { logits: 'last' }], /^ids: expected an Int32Array, found a Uint32Array$/],
      [[ids], /^options: expected an object, found undefined$/],
      [[ids, {}], /^options\.logits: expected "none", "last" or "all", found undefined$/],
      [[ids, { logits: 'every' }], /found "every"$/],
      [[ids, { logits: 'last', trace: 1 }], /^options\.trace: expected an object, found 1$/],
      [
        [ids, { logits: 'last', trace: {} }],
        /^options\.trace\.blockOut: expected a boolean, found undefined$/,
      ],
    ];
    for (const [args, message] of cases) await refuses(session, 'forward', args, message);
    assert.is(session.stats().position, 0);
  });
});

test('score', async () => {
  await withSession(modelFile({}), async (session) => {
    const ids = Int32Array.of(1, 2);
    const cases: [unknown[], RegExp][] = [
      [[], /^ids: expected an Int32Array, found undefined$/],
      [[ids, 1], /^options: expected an object, found 1$/],
      [[ids, {}], /^options\.maskedMass: expected a boolean, found undefined$/],
    ];
    for (const [args, message] of cases) await refuses(session, 'score', args, message);
    assert.is((await session.score(ids)).maskedMass, null);
  });
});

test('sampling', async () => {
  await withSession(modelFile({}), async (session) => {
    await session.forward(Int32Array.of(1), { logits: 'last' });
    const cases: [object, RegExp][] = [
      [{ temperature: -1 }, /^sampling\.temperature: expected a number from 0 to .*, found -1$/],
      [{ temperature: NaN }, /^sampling\.temperature: .* found NaN$/],
      [{ temperature: Infinity }, /^sampling\.temperature: .* found Infinity$/],
      [{ topK: -1 }, /^sampling\.topK: expected an integer from 0 to 2147483647, found -1$/],
      [{ topK: 2.5 }, /^sampling\.topK: .* found 2\.5$/],
      [{ topP: 1.5 }, /^sampling\.topP: expected a number from 0 to 1, found 1\.5$/],
      [{ repetitionPenalty: 0 }, /^sampling\.repetitionPenalty: .* found 0$/],
      [{ adaptiveTemperature: 1 }, /^sampling\.adaptiveTemperature: expected a boolean, found 1$/],
      [{ validVocabSize: 0 }, /^sampling\.validVocabSize: .* found 0$/],
      [{ bannedIds: [1] }, /^sampling\.bannedIds: expected an Int32Array, found an Array$/],
    ];
    for (const [change, message] of cases) {
      await refuses(session, 'step', [Int32Array.of(1), { ...greedy, ...change }], message);
      await refuses(session, 'probabilities', [{ ...greedy, ...change }], message);
    }
    await refuses(session, 'step', [Int32Array.of(1)], /^sampling: expected an object, found undefined$/);
    assert.is(session.stats().position, 1);
  });
});

test('generate', async () => {
  await withSession(modelFile({}), async (session) => {
    const [ids, none] = [Int32Array.of(1), new Int32Array()];
    const take = (): void => undefined;
    const cases: [unknown[], RegExp][] = [
      [[], /^ids: expected an Int32Array, found undefined$/],
      [[ids, greedy], /^options: expected an object, found undefined$/],
      [
        [ids, greedy, { stopIds: none }, take],
        /^options\.maxTokens: expected an integer from 1 .* found undefined$/,
      ],
      [[ids, greedy, { maxTokens: 0, stopIds: none }, take], /^options\.maxTokens: .* found 0$/],
      [[ids, greedy, { maxTokens: 1 }, take], /^options\.stopIds: expected an Int32Array, found undefined$/],
      [[ids, greedy, { maxTokens: 1, stopIds: [1] }, take], /^options\.stopIds: .* found an Array$/],
      [[ids, greedy, { maxTokens: 1, stopIds: none, logprob: 1 }, take], /^options\.logprob: .* found 1$/],
      [[ids, greedy, { maxTokens: 1, stopIds: none }], /^onSteps: expected a function, found undefined$/],
      [[ids, {}, { maxTokens: 1, stopIds: none }, take], /^sampling\.temperature: .* found undefined$/],
    ];
    for (const [args, message] of cases) await refuses(session, 'generate', args, message);
    assert.is(session.stats().position, 0);
  });
});

test('seed', async () => {
  await withSession(modelFile({}), async (session) => {
    for (const seed of [-1n, 2n ** 64n, 1, undefined])
      await refuses(session, 'seed', [seed], /^seed: expected a bigint from 0 to 2\^64 - 1, found /);
    session.seed(2n ** 64n - 1n);
  });
});

test('pack and packedSize', async () => {
  const two = Float32Array.of(1, 2);
  const cases: [unknown[], RegExp][] = [
    [['f64', 'row_major', two, 1, 2], /^dtype: expected "f32", "i8" or "i4", found "f64"$/],
    [
      ['i8', 'diagonal', two, 1, 2],
      /^layout: expected "row_major", "panel_4x32", "column_major" or "panel_4x32_i4", found "diagonal"$/,
    ],
    [['i8', 'row_major', two, 1, 2], /^layout: expected one that the dtype has, found "row_major"$/],
    [['i4', 'panel_4x32', two, 1, 2], /^layout: expected one that the dtype has, found "panel_4x32"$/],
    [['f32', 'panel_4x32_i4', two, 1, 2], /^layout: .* found "panel_4x32_i4"$/],
    [['i8', 'row_major', [1, 2], 1, 2], /^source: expected a Float32Array, found an Array$/],
    [['i8', 'panel_4x32', two, 1, 3], /^source: expected 3 values \(rows x cols\), found 2$/],
    [['i8', 'row_major', two, 0, 2], /^rows: expected an integer from 1 to 16777216, found 0$/],
    [['i8', 'row_major', two, 1, 2 ** 40], /^cols: .* found 1099511627776$/],
  ];
  for (const [args, message] of cases) await refuses(native, 'pack', args, message);
  const packs = ['f32', 'row_major', two, 1, 2];
  await refuses(native, 'pack', [...packs, two], /^into: expected a Uint8Array, found a Float32Array$/);
  await refuses(native, 'pack', [...packs, new Uint8Array(9)], /^into: expected 8 bytes .*, found 9 at 0$/);
  await refuses(native, 'pack', [...packs, new Uint8Array(10).subarray(2)], /^into: .*, found 8 at 2$/);
  const into = new Uint8Array(12).subarray(4);
  const { data } = native.pack('f32', 'row_major', two, 1, 2, into);
  assert.is(data, into);
  assert.equal(new Float32Array(into.buffer.slice(4)), two);
  await refuses(native, 'packedSize', ['f32', 'row_major', 1], /^cols: .* found undefined$/);
  const odd = await failureOf(() => native.pack('i8', 'panel_4x32', Float32Array.of(1, NaN), 1, 2));
  assert.is(odd.code, 'ERR_CHECKPOINT_TENSOR');
  const large = await failureOf(() => native.pack('i4', 'panel_4x32_i4', Float32Array.of(1, 458656), 1, 2));
  assert.is(large.code, 'ERR_CHECKPOINT_TENSOR');
  assert.match(large.message, /expected weights of at most 458528 .* found a larger one at row 0/);
});

test('unpackRows', async () => {
  const { data, scale } = native.pack('i8', 'panel_4x32', Float32Array.of(1, 2, 3, 4), 2, 2);
  const into = new Float32Array(2);
  const good: unknown[] = ['i8', 'panel_4x32', data, scale, 2, 2, 1, 2, into];
  const cases: [at: number, wrong: unknown, RegExp][] = [
    [0, 'i2', /^dtype: .* found "i2"$/],
    [1, 'row_major', /^layout: expected one that the dtype has, found "row_major"$/],
    [2, [1], /^data: expected a Uint8Array, found an Array$/],
    [2, data.slice(4), /^data: expected 128 bytes .*, found 124 at 0$/],
    [3, null, /^scale: expected a Float32Array, found null$/],
    [3, new Float32Array(2), /^scale: expected 4 values, found 2$/],
    [4, 0, /^rows: .* found 0$/],
    [6, 3, /^from: expected an integer from 0 to 2, found 3$/],
    [7, 0, /^to: expected an integer from 1 to 2, found 0$/],
    [7, 3, /^to: .* found 3$/],
    [8, undefined, /^into: expected a Float32Array, found undefined$/],
    [8, new Float32Array(3), /^into: expected 2 values \(rows x cols\), found 3$/],
  ];
  for (const [at, wrong, message] of cases)
    await refuses(native, 'unpackRows', good.with(at, wrong), message);
  assert.is(call(native, 'unpackRows', good), into);
});

test('selfTest, readBandwidth, setErrorFactory', async () => {
  await refuses(native, 'selfTest', [1, 1n], /^isa: expected a string, found 1$/);
  await refuses(native, 'selfTest', ['scalar', 1], /^seed: expected a bigint/);
  await refuses(native, 'readBandwidth', [0, 1024, 1], /^threads: .* found 0$/);
  await refuses(native, 'readBandwidth', [1, -1, 1], /^sizeBytes: .* found -1$/);
  await refuses(native, 'readBandwidth', [1, 1024, 0], /^rounds: .* found 0$/);
  await refuses(native, 'setErrorFactory', [{}], /^make: expected a function, found an object$/);
});

test('measureKernel, arithmeticPeak', async () => {
  const kernel = ['scalar', 'matmul_i8_f32', 1, 1 << 20, 1];
  const kernelCases: [at: number, wrong: unknown, RegExp][] = [
    [0, undefined, /^isa: expected a string, found undefined$/],
    [1, 7, /^kernel: expected a string, found 7$/],
    [1, 'matmul', /^kernel "matmul": expected a kernel that can be measured$/],
    [2, 0, /^threads: .* found 0$/],
    [3, 1.5, /^sizeBytes: .* found 1\.5$/],
    [3, 1000, /expected at least 1048576 bytes, found 1000$/],
    [4, 1001, /^rounds: .* found 1001$/],
  ];
  for (const [at, wrong, message] of kernelCases)
    await refuses(native, 'measureKernel', kernel.with(at, wrong as string), message);
  const peak = ['scalar', 'f32', 'f32', 1, 1];
  const peakCases: [at: number, wrong: unknown, RegExp][] = [
    [0, null, /^isa: expected a string, found null$/],
    [1, 'i16', /^weights: expected "f32", "i8" or "i4", found "i16"$/],
    [2, 'i4', /^activations: expected "f32", "i8" or "i16", found "i4"$/],
    [3, 257, /^threads: .* found 257$/],
    [4, NaN, /^rounds: .* found NaN$/],
  ];
  for (const [at, wrong, message] of peakCases)
    await refuses(native, 'arithmeticPeak', peak.with(at, wrong as string), message);
  const unknown = await failureOf(() => native.measureKernel('abacus', 'matmul_i8_f32', 1, 1 << 20, 1));
  assert.is(unknown.code, 'ERR_ISA_UNSUPPORTED');
  assert.is(await native.arithmeticPeak('scalar', 'f32', 'f32', 1, 1), null);
});

test('what a service manager and socket rules need', async () => {
  await refuses(native, 'notifySystemd', [1, 'READY=1'], /^address: expected a string, found 1$/);
  await refuses(native, 'notifySystemd', ['/n', undefined], /^text: expected a string, found undefined$/);
  await refuses(native, 'notifySystemd', ['/n\0', ''], /^address: expected a string without NUL/);
  for (const address of ['', '@', '/no/such/socket', `/${'x'.repeat(200)}`, import.meta.filename])
    assert.is(native.notifySystemd(address, 'READY=1'), false, address);
  await refuses(native, 'listeningSocket', [-1], /^fd: expected an integer from 0/);
  for (const fd of [0, 987_654])
    await refuses(
      native,
      'listeningSocket',
      [fd],
      /^fd \d+: expected a listening Unix stream socket, found /,
    );
  await refuses(native, 'groupId', [0], /^name: expected a string, found 0$/);
  assert.is(native.groupId('root'), 0);
  assert.is(native.groupId(''), null);
  assert.is(native.groupId('no-such-group'), null);
  await refuses(native, 'tryLock', ['1'], /^fd: expected an integer from 0/);
  assert.is(native.tryLock(987_654), false);
});

test('peerCredentials wants the descriptor of a connected Unix socket', async () => {
  await refuses(native, 'peerCredentials', [-1], /^fd: expected an integer from 0 to 2147483647, found -1$/);
  await refuses(native, 'peerCredentials', [987_654], /^fd 987654: expected a connected Unix socket, found /);
});

test('objects are made by their parents only, and methods want their own object', async () => {
  await withSession(modelFile({}), async (session) => {
    const engine = native.openEngine({ threads: 1 });
    for (const made of [session, engine]) {
      const found = made.constructor as unknown as new () => unknown;
      assert.match((await failureOf(() => new found())).message, /expected to be made by open/);
    }
    assert.instance(await failureOf(() => call(session, 'stats', [], engine)), TypeError);
    assert.instance(await failureOf(() => call(engine, 'close', [], {})), TypeError);
    engine.close();
  });
});

test.run();
