import type { Reading } from '../device.js';
import { wall, type Ear, type Kind, type Mouth } from '../speaker.js';
import { engineering, isCommand, scpiEar } from './scpi.js';

/** Bits of the condition register: 0 falls at the end of an update; 6 over range, 8 peak current over range. */
const overRange = (1 << 6) | (1 << 8);

function speak(mouth: Mouth): Ear {
  const items = ['U', 'I', 'P', 'S', 'Q', 'LAMBDA', 'PHI', 'FU', 'FI', 'NONE'];
  const filters = new Map<number, string>();
  let count = 3;
  let header = true;
  let shown: Reading | null = null;
  let condition = 0;
  /** What happened since it was read last. */
  let events = 0;
  let wake: () => void = () => undefined;
  let error = '0,"No error"';

  mouth.onUpdate((reading) => {
    const now = reading.saturated ? overRange : 0;
    for (let bit = 0; bit < 16; ++bit) {
      const filter = filters.get(bit + 1) ?? 'NEVER';
      const rose = bit === 0 || (now & ~condition & (1 << bit)) !== 0;
      const fell = bit === 0 || (condition & ~now & (1 << bit)) !== 0;
      if ((rose && /RISE|BOTH/.test(filter)) || (fell && /FALL|BOTH/.test(filter))) events |= 1 << bit;
    }
    condition = now;
    shown = reading;
    wake();
  });

  const valueOf = (item: string, { watts, volts, amps, powerFactor, hertz, saturated }: Reading): number => {
    if (item === 'P') return saturated ? Infinity : watts;
    if (item === 'U') return volts;
    if (item === 'I') return saturated ? Infinity : amps;
    if (item === 'S') return volts * amps;
    if (item === 'LAMBDA') return powerFactor;
    return item === 'FU' ? hertz : NaN;
  };
  /** The answer to a query of a setting, with or without its name. */
  const setting = (name: string, value: string): string => (header ? `:${name} ${value}` : value);

  return scpiEar(mouth, '\r\n', (command, argument) => {
    const is = (name: string): boolean => isCommand(command, name);
    const numbered = /^(.*?)(\d+)(\??)$/.exec(command);
    const [, stem = '', digits = '', query = ''] = numbered ?? [];
    if (is('*IDN?')) return 'YOKOGAWA,WT310,SIM000001,F1.03';
    if (is('NUMeric:NORMal:VALue?') || is('NUMeric:VALue?'))
      return items
        .slice(0, count)
        .map((item) => engineering(shown === null ? NaN : valueOf(item, shown), 5))
        .join(',');
    if (is('NUMeric:NORMal:NUMber?')) return setting('NUMERIC:NORMAL:NUMBER', String(count));
    if (is('STATus:CONDition?')) return String(condition);
    if (is('STATus:EESR?')) {
      const read = events;
      events = 0;
      return String(read);
    }
    if (is('STATus:ERRor?')) {
      const read = error;
      error = '0,"No error"';
      return read;
    }
    if (is('COMMunicate:WAIT'))
      return new Promise((resolve) => {
        wake = () => {
          if ((events & Number(argument) & 0xffff) !== 0) resolve(null);
        };
        wake();
      });
    if (is('NUMeric:NORMal:NUMber')) count = Number(argument);
    else if (is('COMMunicate:HEADer')) header = /^(ON|1)$/i.test(argument);
    else if (query === '' && isCommand(stem, 'NUMeric:NORMal:ITEM'))
      items[Number(digits) - 1] = argument.split(',')[0]?.toUpperCase() ?? '';
    else if (query === '' && isCommand(stem, 'STATus:FILTer'))
      filters.set(Number(digits), argument.toUpperCase());
    else if (!accepted.some(is)) error = '113,"Undefined header"';
    return null;
  });
}

/** What it takes and has no effect here. */
const accepted = [
  'COMMunicate:REMote',
  'COMMunicate:VERBose',
  'SYSTem:COMMunicate:COMMand',
  'NUMeric:FORMat',
  '*CLS',
];

/** Yokogawa WT310, WT310E over RS-232. */
export const wt310: Kind = {
  name: 'wt310',
  says: 'Yokogawa WT310: SCPI, tells when a value is fresh and when it is over range',
  baud: 9600,
  measuring: {
    ...wall,
    periodMs: 250,
    wattsStep: 0.001,
    voltsStep: 0.01,
    ampsStep: 0.00001,
    maxWatts: 12_000,
  },
  cannot: [],
  speak: (mouth) => speak(mouth),
};
