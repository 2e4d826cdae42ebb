import { assert, suite } from '../tools/suite.js';
import { openCheckpoint } from '../../export/checkpoint.js';
import { failureOf, named, readAll, readEverything, withCheckpoint } from './helpers/reads.js';
import { dict, global, proto, scalar, stop, str, tensor, tuple, type TensorSpec } from './helpers/pickle.js';
import { f32Bytes, scratchFolder, torchBytes, type TorchFileSpec } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('state dicts');
test.after(() => folder.remove());

const spec: TensorSpec = { dtype: 'f32', key: '0', elements: 2, shape: [2] };
const storages: [string, Buffer[]][] = [['0', [f32Bytes([1, 2])]]];

function file(names: string[], rest: Partial<TorchFileSpec> = {}): string {
  return folder.write(
    'state.pt',
    torchBytes({ tensors: names.map((name) => [name, spec]), storages, ...rest }),
  );
}

for (const under of ['model', 'model_state_dict', null] as const)
  test(`tensors under ${under ?? 'no key'}, wrappers' prefixes stripped in any order, v_mem dropped`, async () => {
    const names = [
      'a',
      'module.b',
      '_orig_mod.c',
      'module._orig_mod.module.d',
      '_orig_mod.module.e',
      'x.module.f',
      'enc.v_mem',
    ];
    await withCheckpoint(
      file(names, { under, config: { vocab_size: 7, unknown: 'kept' } }),
      ({ tensors, config }) => {
        assert.equal([...tensors.keys()], ['a', 'b', 'c', 'd', 'e', 'x.module.f']);
        assert.equal({ ...config }, { vocab_size: 7, unknown: 'kept' });
      },
    );
  });

test('two keys that unwrap to one name are refused', async () => {
  const error = await failureOf(() => readEverything(file(['a', 'module.a'])));
  assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
  assert.match(error.message, /state\.pt: tensor "a": expected once, found again as "module.a"/);
});

test('keys named like parts of every object are only keys', async () => {
  const names = ['__proto__', 'constructor', 'toString'];
  await withCheckpoint(
    file(names, { config: { ['__proto__']: 1, hasOwnProperty: 2 } }),
    ({ tensors, config }) => {
      assert.equal([...tensors.keys()], names);
      assert.ok(Object.hasOwn(config, '__proto__'));
      assert.is(({} as Record<string, unknown>).polluted, undefined);
    },
  );
  const configPath = folder.write('proto.json', '{"__proto__": {"vocab_size": 3}, "embed_dim": 4}');
  const checkpoint = await openCheckpoint(file(['a']), { configPath });
  assert.is(checkpoint.config.vocab_size, undefined);
  assert.is(checkpoint.config.embed_dim, 4);
  await checkpoint.close();
});

test('a value that is no tensor is refused inside the model and ignored at top level', async () => {
  const pickle = (inner: boolean) => {
    const pairs: [Buffer, Buffer][] = [[str('w'), tensor(spec)], [str('step'), scalar(5)]]; // prettier-ignore
    const saved = inner
      ? dict([str('config'), dict()], [str('model'), dict(...pairs)])
      : dict([str('config'), dict()], ...pairs);
    return Buffer.concat([proto, saved, stop]);
  };
  const error = await failureOf(() => readEverything(file([], { pickle: pickle(true) })));
  assert.match(error.message, /"model": expected tensors by name, found the number 5 as the string "step"/);
  await readEverything(file([], { pickle: pickle(false) }));
});

test('a parameter counts as its tensor', async () => {
  const parameter = Buffer.concat([
    global('torch._utils', '_rebuild_parameter'),
    tuple(tensor(spec), scalar(true), dict()),
    Buffer.from('R'),
  ]);
  const pickle = Buffer.concat([
    proto,
    dict([str('config'), dict()], [str('model'), dict([str('w'), parameter])]),
    stop,
  ]);
  await withCheckpoint(file([], { pickle }), async ({ tensors }) => {
    assert.equal(Array.from(await readAll(named(tensors, 'w'))), [1, 2]);
  });
});

test('a checkpoint without tensors or without a dict is refused', async () => {
  assert.match((await failureOf(() => readEverything(file([])))).message, /expected tensors under "model"/);
  const list = Buffer.concat([proto, Buffer.from(']'), stop]);
  assert.match(
    (await failureOf(() => readEverything(file([], { pickle: list })))).message,
    /expected a dict .*found a list of 0/,
  );
});

test('the configuration: named file, then the archive, then config.json beside it', async () => {
  const named = folder.write('named.json', '{"config": {"vocab_size": 2}, "about": 1}');
  const configOf = async (path: string, configPath?: string) => {
    const checkpoint = await openCheckpoint(path, configPath === undefined ? {} : { configPath });
    await checkpoint.close();
    return checkpoint.config.vocab_size;
  };
  assert.is(await configOf(file(['a'], { config: { vocab_size: 1 } })), 1);
  assert.is(await configOf(file(['a'], { config: { vocab_size: 1 } }), named), 2);
  const bare = () => file(['a'], { pickle: Buffer.concat([proto, dict([str('a'), tensor(spec)]), stop]) });
  assert.match(
    (await failureOf(() => configOf(bare()))).message,
    /expected a configuration in config\.json beside it .*found none/,
  );
  folder.write('index.json', '{"config": {"vocab_size": 3}}');
  assert.is(await configOf(bare()), 3);
  folder.write('config.json', '{"vocab_size": 4}');
  assert.is(await configOf(bare()), 4);
  const absent = await failureOf(() => configOf(bare(), folder.path('absent.json')));
  assert.is(absent.code, 'ERR_FILE_NOT_FOUND');
  const broken = await failureOf(() => configOf(bare(), folder.write('broken.json', '{"vocab_size": ')));
  assert.is(broken.code, 'ERR_CHECKPOINT_INVALID');
  assert.match(broken.message, /broken\.json: expected JSON/);
});

test.run();
