import { assert, suite } from '../tools/suite.js';
import { unpickle } from '../../export/pytorch/unpickler.js';
import { failureOf } from './helpers/reads.js';
import {
  dict,
  global,
  int,
  mark,
  op,
  orderedDict,
  proto,
  stop,
  str,
  tensor,
  tuple,
} from './helpers/pickle.js';

const test = suite('hostile pickles');

const run = (...parts: Buffer[]) => unpickle('evil.pt', Buffer.concat([proto, ...parts, stop]));
const failure = (...parts: Buffer[]) => failureOf(() => run(...parts));

const unsafe: [name: string, parts: Buffer[], found: RegExp][] = [
  ['os.system through GLOBAL', [global('os', 'system'), tuple(str('true')), op('R')], /global "os\.system"/],
  [
    'builtins.eval called by REDUCE',
    [global('builtins', 'eval'), tuple(str('1')), op('R')],
    /global "builtins\.eval"/,
  ],
  [
    'a name that only begins like an allowed one',
    [global('torch', 'FloatStorage.__init__')],
    /global "torch\.FloatStorage\.__init__"/,
  ],
  ['a dotted module that joins to an allowed name', [global('collections.', 'OrderedDict')], /global/],
  ['torch.load inside the pickle', [global('torch', 'load')], /global "torch\.load"/],
  ['INST', [mark, op('ios\nsystem\n')], /opcode INST \(0x69\)/],
  ['OBJ', [mark, op('o')], /opcode OBJ/],
  ['NEWOBJ', [op('}'), op(')'), op('\x81')], /opcode NEWOBJ/],
  ['EXT1', [op('\x82\x01')], /opcode EXT1/],
  ['EXT2', [op('\x83\x01\x00')], /opcode EXT2/],
  ['EXT4', [op('\x84\x01\x00\x00\x00')], /opcode EXT4/],
  ['STACK_GLOBAL', [str('os'), str('system'), op('\x93')], /opcode STACK_GLOBAL/],
  ['a text persistent id', [op('P0\n')], /opcode PERSID/],
  ['BUILD on a plain dict', [op('}}b')], /opcode BUILD on a dict of 0/],
  [
    'BUILD on a tensor',
    [tensor({ dtype: 'f32', key: '0', elements: 1, shape: [1] }), op('}b')],
    /opcode BUILD on a tensor/,
  ],
  ['an unknown opcode', [op('\xff')], /opcode 0xff/],
];

for (const [name, parts, found] of unsafe)
  test(`${name} is refused by name`, async () => {
    const error = await failure(...parts);
    assert.is(error.code, 'ERR_CHECKPOINT_UNSAFE');
    assert.match(error.message, /^evil\.pt: pickle byte \d+: expected only what plain tensors need, found /);
    assert.match(error.message, found);
  });

const view = (args: Buffer) => [global('torch._utils', '_rebuild_tensor_v2'), args, op('R')];
const storage = Buffer.concat([
  tuple(str('storage'), global('torch', 'FloatStorage'), str('0'), str('cpu'), int(4)),
  op('Q'),
]);

const invalid: [name: string, parts: Buffer[], found: RegExp][] = [
  ['another protocol', [op('\x80\x04N')], /expected pickle protocol 2, found 4/],
  ['a value called as a function', [op('N)R')], /constructor to call, found None/],
  [
    'a storage type called',
    [global('torch', 'FloatStorage'), op(')R')],
    /constructor to call, found the global torch\.FloatStorage/,
  ],
  [
    'arguments that are no tuple',
    [global('collections', 'OrderedDict'), op(']R')],
    /expected a tuple of arguments, found a list/,
  ],
  [
    'OrderedDict with arguments',
    [global('collections', 'OrderedDict'), tuple(op(']')), op('R')],
    /without arguments, found 1/,
  ],
  ['a tensor without arguments', view(op(')')), /expected a tensor's storage, found nothing/],
  ['a tensor of a dict', view(tuple(op('}'))), /expected a tensor's storage, found a dict of 0/],
  [
    'a negative offset',
    view(tuple(storage, int(-1), tuple(), tuple())),
    /expected a tensor's offset, found the number -1/,
  ],
  [
    'a negative stride',
    view(tuple(storage, int(3), tuple(int(2)), tuple(int(-1)))),
    /expected a tensor's strides, found a tuple of 1/,
  ],
  [
    'fewer strides than sizes',
    view(tuple(storage, int(0), tuple(int(1), int(1)), tuple(int(1)))),
    /expected 2 strides, found 1/,
  ],
  [
    'sizes whose product has no exact value',
    view(tuple(storage, int(0), tuple(int(2 ** 40), int(2 ** 40)), tuple(int(0), int(0)))),
    /fewer than 2\^53/,
  ],
  [
    'nine dimensions',
    view(tuple(storage, int(0), tuple(...Array<Buffer>(9).fill(int(1))), tuple())),
    /expected a tensor's shape, found a tuple of 9/,
  ],
  [
    'a persistent id that is no storage',
    [tuple(str('module'), op('N'), op('N'), op('N'), op('N')), op('Q')],
    /expected a storage as persistent id/,
  ],
  [
    'a storage of an unknown type',
    [tuple(str('storage'), str('FloatStorage'), str('0'), str('cpu'), int(4)), op('Q')],
    /expected a storage type/,
  ],
  [
    'a storage of negative size',
    [tuple(str('storage'), global('torch', 'FloatStorage'), str('0'), str('cpu'), int(-4)), op('Q')],
    /number of elements, found the number -4/,
  ],
  [
    'a parameter of no tensor',
    [global('torch._utils', '_rebuild_parameter'), tuple(op('N')), op('R')],
    /expected a parameter's tensor, found None/,
  ],
  ['a huge memo index', [op('Nr\xff\xff\xff\xff')], /expected a memo index below 1000000, found 4294967295/],
  ['a memo never written', [op('h\x07')], /expected a memoized value at 7, found none/],
  ['deep nesting', [Buffer.alloc(100_000, '(')], /expected nesting of at most 256/],
  [
    'a string longer than the file',
    [op('X\xff\xff\xff\x7f')],
    /expected a string of at most 1048576 bytes, found 2147483647/,
  ],
  ['a string cut short', [op('X\x10\x00\x00\x00abc')], /expected 16 more bytes, found 4/],
  ['text that is no UTF-8', [op('X\x02\x00\x00\x00\xc3\x28')], /expected UTF-8 text/],
  [
    'a list as dict key',
    [dict([op(']'), op('N')])],
    /expected a string or number as dict key, found a list of 0/,
  ],
  ['an odd number of dict items', [op('}(Nu')], /expected pairs of key and value, found 1 values/],
  ['an append to a dict', [op('}Na')], /expected a list to append to, found a dict/],
  ['an item for a list', [op(']NNs')], /expected a dict to fill, found a list/],
  ['an open MARK at the end', [op('(N')], /expected every MARK to be closed/],
  ['a MARK never opened', [op('Nt')], /expected a MARK before/],
  ['two values at the end', [op('NN')], /expected one value at STOP, found 2/],
  ['nothing at the end', [], /expected a value on the stack, found none/],
  ['bytes after the end', [op('N.N')], /expected STOP at the end, found 2 bytes after it/],
  ['too few values for a tuple', [op('N\x86')], /expected 2 values on the stack, found 1/],
];

for (const [name, parts, found] of invalid)
  test(`${name} is refused`, async () => {
    const error = await failure(...parts);
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(error.message, found);
  });

test('a list that holds itself, and tuples that double, cost only their bytes', () => {
  const cyclic = run(op(']q\x00h\x00a'));
  assert.ok(Array.isArray(cyclic) && cyclic[0] === cyclic);
  const doubling = Array.from({ length: 200 }, () => op('q\x01h\x01\x86'));
  run(op('N'), ...doubling);
  const message = failure(op(']q\x00h\x00ah\x00)R'));
  return message.then(({ message: text }) => assert.match(text, /found a list of 1/));
});

test('a pickle cut anywhere is refused, never misread', async () => {
  const whole = Buffer.concat([
    proto,
    dict(
      [str('config'), dict([str('a'), int(300)])],
      [str('model'), orderedDict([str('w'), tensor({ dtype: 'f32', key: '0', elements: 4, shape: [2, 2] })])],
    ),
    stop,
  ]);
  unpickle('cut.pt', whole);
  for (let length = 0; length < whole.length; length++) {
    const error = await failureOf(() => unpickle('cut.pt', whole.subarray(0, length)));
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID', `${length}: ${error.message}`);
  }
});

test('numbers of every form', () => {
  const values: [Buffer, unknown][] = [
    [op('J\xfe\xff\xff\xff'), -2],
    [op('K\xff'), 255],
    [op('M\xff\xff'), 65535],
    [op('\x8a\x00'), 0],
    [op('\x8a\x01\x80'), -128],
    [op('\x8a\x02\x80\x00'), 128],
    [op('\x8a\x07\xff\xff\xff\xff\xff\xff\x1f'), 2 ** 53 - 1],
    [op('\x8a\x07\x00\x00\x00\x00\x00\x00\x20'), 2n ** 53n],
    [op('G\x3f\xb9\x99\x99\x99\x99\x99\x9a'), 0.1],
  ];
  for (const [bytes, expected] of values) assert.is(run(bytes), expected);
});

test.run();
