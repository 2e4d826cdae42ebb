import { LineSplitter, readNumber } from '../../../power/meters/ascii/text-lines.js';
import { PacketParser, type Piece } from '../../../power/meters/ascii/packets.js';
import { CommaRule, sampleOf as lineSample } from '../../../power/meters/ascii/lines.js';
import { sampleOf as packetSample } from '../../../power/meters/ascii/wattsup.js';
import { sampleOf as scpiSample } from '../../../power/meters/scpi/scpi.js';
import { seededRandom } from '../../../power/simulator/random.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('text of meters');
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const pieces = (text: string): Piece[] => new PacketParser().push(bytesOf(text));

/** Of power-meters.md, section 3. */
const golden = '#d,-,18,103,2304,87,12,0,_,_,1100,_,_,_,_,_,51,_,0,500,201;';

test('the data packet of the specification', () => {
  const [piece] = pieces(golden);
  assert.ok(piece?.packet);
  assert.equal(packetSample(piece.packet, 5n), {
    tNs: 5n,
    watts: 10.3,
    volts: 230.4,
    amps: 0.087,
    joules: 4320,
    flags: [],
  });
});

test('line ends inside a packet and between packets mean nothing, other bytes between are noise', () => {
  const text = `WattsUp.NET $ Version: 3.31\r\n${golden.replace('230', '2\r\n3\t0')}\r\n\0\r\n#v,-,0;x`;
  const found = pieces(text);
  assert.equal(
    found.map(({ fault, packet }) => fault ?? packet?.command),
    ['noise', 'd', 'v', 'noise'],
  );
  assert.is(textOf(found[0]?.bytes ?? new Uint8Array(0)), 'WattsUp.NET $ Version: 3.31\r\n');
  assert.equal(found[1]?.packet, pieces(golden)[0]?.packet);
});

test('what broke off or is damaged is torn, and the packet after it is whole', () => {
  const bad = [
    '#d,-,18,103,2304,87', // a new one begins before its end
    golden.replace(',0,', ',,'), // an empty field
    golden.replace('18', '17'), // a wrong count
    golden.replace('103', '1\x033'),
    '#;',
    '#dd,-,0;',
    `#d,-,18,${'1'.repeat(500)}`, // never ends
  ];
  for (const text of bad) {
    const found = pieces(text + golden);
    assert.is(found[0]?.fault, 'torn', text);
    assert.is(found.at(-1)?.packet?.args[0], '103', text);
  }
});

test('fields without a value are null, and a data packet of other things than whole numbers is none', () => {
  const sample = (text: string) =>
    packetSample(pieces(text)[0]?.packet ?? { command: '', sub: '', args: [] }, 1n);
  assert.equal(sample(golden.replace('103', '_'))?.flags, ['no-value']);
  assert.is(sample(golden.replace('103', '_'))?.watts, null);
  assert.ok(sample(golden.replace('103', '50000'))?.flags.includes('saturated'));
  assert.equal(sample(golden.replace('103', '303'))?.flags, ['suspect']); // more than V A
  assert.is(sample(golden.replace('2304', '_'))?.volts, null);
  for (const other of ['1.3', 'abc', '1e3', '1234567890'])
    assert.is(sample(golden.replace('103', other)), null);
  assert.is(sample('#d,-,1,103;'), null);
});

test('any cut of the bytes gives the same packets', () => {
  const random = seededRandom(7);
  const text = bytesOf(`junk${golden}\r\n#v,-,2,a,b;${golden}#d,-,1${golden}`);
  const whole = (found: readonly Piece[]): unknown[] => found.flatMap(({ packet }) => packet ?? []);
  const expected = whole(new PacketParser().push(text));
  assert.is(expected.length, 4);
  for (let round = 0; round < 200; ++round) {
    const parser = new PacketParser();
    const found: Piece[] = [];
    for (let at = 0; at < text.length;) {
      const next = at + 1 + Math.floor(random() * 9);
      found.push(...parser.push(text.subarray(at, next)));
      at = next;
    }
    assert.equal(whole(found), expected);
  }
});

test('random bytes give no sample that was not there, nothing is kept for ever, no byte is told twice', () => {
  const random = seededRandom(11);
  const alphabet = bytesOf('#;,-_d18903\r\n v');
  for (const pick of [
    () => Math.floor(random() * 256),
    () => alphabet[Math.floor(random() * alphabet.length)] ?? 0,
  ]) {
    const parser = new PacketParser();
    const splitter = new LineSplitter();
    let told = 0;
    const n = 100_000;
    const bytes = Uint8Array.from({ length: n }, pick);
    for (let at = 0; at < n; at += 50) {
      for (const piece of parser.push(bytes.subarray(at, at + 50))) {
        told += piece.bytes.length;
        assert.is(piece.packet === null, piece.fault !== null);
        if (piece.packet?.command === 'd') assert.is(packetSample(piece.packet, 1n), null);
      }
      for (const line of splitter.push(bytes.subarray(at, at + 50))) assert.ok(line.bytes.length <= 512);
    }
    assert.ok(told <= n);
    // After any of it a good packet and a good line are found.
    assert.is(parser.push(bytesOf(golden)).at(-1)?.packet?.args[0], '103');
    assert.is(splitter.push(bytesOf('\n10.3\r\n')).at(-1)?.text, '10.3');
  }
});

test('one turned bit in a packet gives another number, a torn packet or noise, and never an exception', () => {
  const bytes = bytesOf(golden);
  let torn = 0;
  for (let bit = 0; bit < bytes.length * 8; ++bit) {
    const damaged = Uint8Array.from(bytes);
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    const parser = new PacketParser();
    const found = [...parser.push(damaged), ...parser.push(bytesOf(golden))];
    assert.is(found.at(-1)?.packet?.args[0], '103');
    torn += found.some(({ fault }) => fault !== null) ? 1 : 0;
  }
  assert.ok(torn > bytes.length);
});

test('numbers as meters write them', () => {
  const cases: [string, unknown][] = [
    ['10.3', 10.3],
    ['+0.5', 0.5],
    ['-.5', -0.5],
    ['17.688E+00', 17.688],
    ['240.02E-03', 0.24002],
    ['NAN', 'nan'],
    ['+NaN', 'nan'],
    ['-------', 'nan'],
    ['9.91E37', 'nan'],
    ['9.9E37', 'inf'],
    ['-9.9E+37', 'inf'],
    ['INF', 'inf'],
    ['OVER', 'inf'],
    ['0x10', null],
    ['1,5', null],
    ['', null],
    ['10.3.1', null],
    ['1e9999', null],
  ];
  for (const [text, expected] of cases) assert.is(readNumber(text), expected, text);
});

test('a line: its column, its unit', () => {
  const plain = {
    column: 1,
    separator: undefined,
    decimal: 'point',
    unit: 'W',
    max_watts: undefined,
    current: 'ac',
  } as const;
  const watts = (text: string, change: object = {}) => lineSample(text, { ...plain, ...change }, 1n)?.watts;
  assert.is(watts('10.3'), 10.3);
  assert.is(watts('10300', { unit: 'mW' }), 10.3);
  assert.is(watts('0.0103', { unit: 'kW' }), 0.0103 / 0.001);
  assert.is(watts('10300mW'), 10.3); // the unit beside the number holds
  assert.is(watts('10.3 W'), 10.3);
  assert.is(watts('230.1, 0.087; 10.3', { column: 3 }), 10.3);
  assert.is(watts('a|b|10.3', { column: 3, separator: '|' }), 10.3);
  assert.is(watts('230.1 10.3', { column: 3 }), undefined);
  assert.is(watts('P=10.3'), undefined);
  assert.equal(lineSample('-1', plain, 1n)?.flags, ['negative']);
  assert.equal(lineSample('-1', { ...plain, current: 'dc' }, 1n)?.flags, []);
  assert.equal(lineSample('nan', plain, 1n)?.flags, ['no-value']);
  assert.equal(lineSample('inf', plain, 1n)?.flags, ['saturated']);
  assert.equal(lineSample('99', { ...plain, max_watts: 99 }, 1n)?.flags, ['saturated']);
});

test('a comma that may be a decimal one is no reading until something says what it is', () => {
  const unit = { column: 1, unit: 'W', max_watts: undefined, current: 'ac' } as const;
  /** Watts of the lines of one meter; undefined for those that are refused. */
  const watts = (
    lines: string[],
    { decimal = 'point', separator }: { decimal?: 'point' | 'comma'; separator?: string } = {},
  ) => {
    const values = { ...unit, decimal, separator };
    const rule = new CommaRule(values);
    return lines.map((line) => (rule.isClear(line) ? lineSample(line, values, 1n)?.watts : undefined));
  };
  assert.equal(watts(['10,3', '10,3 W', '-1,5;230', 'P 0,5']), [undefined, undefined, undefined, undefined]);
  assert.equal(watts(['10,3', '10,3 W', '10,3;230,1', '10.3', '1.234,5'], { decimal: 'comma' }), [
    10.3,
    10.3,
    10.3,
    10.3,
    undefined,
  ]);
  assert.equal(watts(['10,3'], { separator: ',' }), [10]);
  assert.equal(watts(['10,3', '230.1,10', '10,3']), [undefined, 230.1, 10]);
  assert.equal(watts(['10, 3', '10,3,230', '10 3,', '10;3']), [10, 10, 10, 10]);
});

test('answers of instruments, by position', () => {
  const traits = { maxWatts: null, current: 'alternating' } as const;
  const three = ['watts', 'volts', 'amps'] as const;
  const sample = (text: string) => scpiSample(text, three, traits, 1n);
  assert.equal(sample('10.4E+00,230.1E+00,0.09E+00'), {
    tNs: 1n,
    watts: 10.4,
    volts: 230.1,
    amps: 0.09,
    joules: null,
    flags: [],
  });
  assert.is(sample(':NUM:NORM:VAL 10.4E+00,230.1E+00,0.09E+00')?.watts, 10.4);
  assert.equal(sample('NAN,230.1E+00,0.09E+00')?.flags, ['no-value']);
  assert.equal(sample('INF,230.1E+00,9.9E37')?.flags, ['saturated']);
  assert.equal(sample('10.4,NAN,0.09')?.flags, []);
  assert.is(sample('10.4,NAN,0.09')?.volts, null);
  assert.equal(sample('-10.4,230,0.09')?.flags, ['negative']);
  assert.is(sample('10.4E+00,230.1E+00'), null);
  assert.is(sample('10.4E+00;230.1E+00;1'), null);
  // The captured answer of a GPM-8213, asked for U and I first.
  const captured = scpiSample('127.58E+00,240.02E-03,17.688E+00', ['volts', 'amps', 'watts'], traits, 1n);
  assert.equal([captured?.volts, captured?.amps, captured?.watts], [127.58, 0.24002, 17.688]);
});

test.run();
