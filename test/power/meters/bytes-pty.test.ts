/** What text meters may write, byte by byte: other spacing, case, ends of lines, words for "none", noise, any cut. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openPty, type Pty } from '../../../client/ctl/meter/pty.js';
import { openMeter } from '../../../power/meters/open.js';
import { assert, suite } from '../../tools/suite.js';
import { until, watch, type Seen } from '../helpers/watch-meter.js';

const test = suite('bytes of text meters');

type Cut = 'whole' | 'one by one';
/** Watts of a sample, or its flag where there are none. */
const shown = ({ samples }: Seen): string[] =>
  samples.filter(({ flags }) => !flags.includes('lost')).map(({ watts, flags }) => String(watts ?? flags[0]));

async function write({ stream }: Pty, text: string, cut: Cut): Promise<void> {
  const bytes = Buffer.from(text, 'latin1');
  if (cut === 'whole') stream.write(bytes);
  else
    for (const byte of bytes) {
      stream.write(Uint8Array.of(byte));
      await sleep(0);
    }
}

/** Reads lines from a program that writes these texts, a moment apart; what samples they gave. */
async function linesGive(texts: readonly string[], query: string, cut: Cut): Promise<string[]> {
  const pty = openPty();
  const meter = openMeter(`lines:${pty.path}?update_ms=2000${query}`);
  const started = watch(meter);
  // The port drops what came before it was open; its first line counts as torn, and the second makes it ready.
  let ready = false;
  const first = setInterval(() => {
    if (!ready) pty.stream.write('1,1,1\n');
  }, 20);
  const seen = await started;
  ready = true;
  clearInterval(first);
  await sleep(30);
  const before = seen.samples.length;
  for (const text of texts) {
    await write(pty, text, cut);
    await sleep(15);
  }
  await write(pty, '77,77,77\n', 'whole');
  await until('the last line', () => seen.samples.at(-1)?.watts === 77);
  await meter.stop();
  pty.hangUp();
  return shown({ ...seen, samples: seen.samples.slice(before, -1) });
}

test('lines: numbers in every dress', async () => {
  for (const [texts, expected, query = ''] of [
    [
      ['10.3\r\n', '11\n', '12.\r', '.5\n', '+13\r\n'],
      ['10.3', '11', '12', '0.5', '13'],
    ],
    [
      ['  10.3  \r\n', '\t11 W\n', '12W\r\n', '13w\n', '14000 mw\n', '0.015 KW\n'],
      ['10.3', '11', '12', '13', '14', '15'],
    ],
    [
      ['1.03E+01\n', '1.1e1\n', '120E-1\r\n'],
      ['10.3', '11', '12'],
    ],
    [
      ['NAN\n', 'nan\n', '---\n', 'INF\n', '-inf\n', 'OL\n', '9.9E37\n', '9.91E+37\n'],
      ['no-value', 'no-value', 'no-value', 'saturated', 'saturated', 'saturated', 'saturated', 'no-value'],
    ],
    [
      ['\0\0' + '10.3\r\n', '11\0\n', '\0\n', '\r\n\r\n', '12\n'],
      ['12'], // where a byte 0 is, a digit may have been
    ],
    [
      ['10.3\r\n11.5\r\n', '12\r13\r', '\xff\xfe\n', 'P\n', '14\n'],
      ['10.3', '11.5', '12', '13', '14'],
    ],
    [
      ['230.1,0.05,10.3\n', '230.1 ; 0.05 ; 11\n', '230.1\t0.05\t12\n', ',,13\n', '230.1,0.05\n'],
      ['10.3', '11', '12', '13'],
      '&column=3',
    ],
  ] as const)
    for (const cut of ['whole', 'one by one'] as const)
      assert.equal(await linesGive(texts, query, cut), expected, `${JSON.stringify(texts)} ${cut}`);
});

const data = (watts: string, rest = '2304,87,12,0,_,_,1100,_,_,_,_,_,51,_,0,500,201'): string =>
  `#d,-,18,${watts},${rest};`;

test('wattsup: packets in every dress', async () => {
  for (const cut of ['whole', 'one by one'] as const) {
    const pty = openPty();
    let heard = '';
    pty.stream.on('data', (bytes: Buffer) => {
      heard += bytes.toString('latin1');
      if (heard.endsWith('#V,R,0;'))
        void write(pty, 'WattsUp.NET $ Version: 3.31\r\n#v,-,8,1,32768,8,2,3,31,20090824,33;', cut);
      if (/#L,W,3,E,[^;]*;$/.test(heard)) void write(pty, data('1'), 'whole');
    });
    const meter = openMeter(`wattsup:${pty.path}?update_ms=2000&baud=115200`);
    const seen = await watch(meter);
    for (const text of [
      data('103'),
      `\r\n${data('104')}\r\n${data('105')}\r\n`, // two in one read
      data('106').replaceAll(',', ' , '), // a space may be a digit with one bit turned
      data('107').replace('#d', '#D'), // a meter answers in small letters
      `\0\0${data('108')}\0`,
      data('109').replace('2304', '23\r\n04'),
      data('110') + data('11').slice(0, 20), // and one that breaks off
      data('111'),
      data('0112'),
      data('_'),
      data('50000', '_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_'),
      data('113', '2304,87,12'), // too few
      data('114').replace(';', '\n'), // no end
      data('115'),
    ]) {
      await write(pty, text, cut);
      await sleep(15);
    }
    await until('the last packet', () => seen.samples.at(-1)?.watts === 11.5);
    await meter.stop();
    pty.hangUp();
    assert.equal(
      shown(seen),
      ['0.1', '10.3', '10.4', '10.5', '10.8', '10.9', '11', '11.1', '11.2', 'no-value', '5000', '11.5'],
      cut,
    );
  }
});

/** Plays an instrument: settings are taken, queries are answered; each reading is the next of the list. */
async function scpiGives(
  profile: string,
  identity: string,
  ends: string,
  answers: readonly string[],
  cut: Cut,
): Promise<Seen> {
  const pty = openPty();
  let [heard, next] = ['', 0];
  pty.stream.on('data', (bytes: Buffer) => {
    const parts = (heard + bytes.toString('latin1')).split(/[\r\n]+/);
    heard = parts.pop() ?? '';
    for (const part of parts) {
      if (!part.endsWith('?')) continue;
      if (part === '*IDN?') void write(pty, identity + ends, cut);
      else if (part.endsWith('NUMBER?')) void write(pty, `:num:norm:numb  3${ends}`, cut);
      else if (/VALUE\?$|ACTIVE\?$/.test(part)) void write(pty, (answers[next++] ?? '77,231,1') + ends, cut);
      else void write(pty, `0${ends}`, cut);
    }
  });
  const meter = openMeter(`scpi:${pty.path}?profile=${profile}&update_ms=2000&poll_ms=5&timeout_ms=300`);
  const seen = await watch(meter);
  await until('the last answer', () => seen.samples.at(-1)?.watts === 77);
  await meter.stop();
  pty.hangUp();
  return { ...seen, samples: seen.samples.filter(({ watts }) => watts !== 77) };
}

test('scpi: answers in every dress', async () => {
  for (const [profile, identity, ends, answers, expected] of [
    [
      'wt310',
      'Yokogawa, WT310E ,C3ABC123, F1.04',
      '\n',
      [
        ' 10.4E+00 , 230.1E+00,0.09e+00',
        '10.5e0,+230.1E0,.09',
        'NAN,NAN,NAN',
        'INF,230,0.09',
        '-INF,230,0.09',
        '9.9E37,230,0.09',
        ':NUMERIC:NORMAL:VALUE 11E+00,230,0.09',
        '12\0,230,0.09',
        '13,230',
        '14,230,0.09,',
      ],
      ['10.4', '10.5', 'no-value', 'saturated', 'saturated', 'saturated', '11', '14'],
    ],
    [
      'gpm8213',
      'GWINSTEK,GPM-8213,GEX000001,V1.05',
      '\r',
      ['17.688E+00,127.58E+00,240.02E-03', 'nan,127,0.2', '-18,127,0.24', '+19.0E+00,127,0.24'],
      ['17.688', 'no-value', '-18', '19'],
    ],
    [
      'ute9800',
      'uni-t,ute9806+,1,F1.02.',
      '\n',
      ['10.30', ' 11', '1.2E1W', '-nan', '9.9E37', '13.00 W'],
      ['10.3', '11', '12', 'no-value', 'saturated', '13'],
    ],
  ] as const)
    for (const cut of ['whole', 'one by one'] as const)
      assert.equal(
        shown(await scpiGives(profile, identity, ends, answers, cut)),
        expected,
        `${profile} ${cut}`,
      );
});

test.run();
