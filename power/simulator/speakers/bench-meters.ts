import type { Reading } from '../device.js';
import { wall, type Ear, type Kind, type Mouth } from '../speaker.js';
import { engineering, isCommand, scpiEar } from './scpi.js';

/** Items by the names that it takes, with those that it answers, which differ. */
const gpmItems: Readonly<Record<string, readonly [name: string, of: (reading: Reading) => number]>> = {
  U: ['Urms', ({ volts }) => volts],
  I: ['Irms', ({ amps }) => amps],
  P: ['P', ({ watts, saturated }) => (saturated ? 9.9e37 : watts)],
  S: ['S', ({ volts, amps }) => volts * amps],
  FU: ['fU', ({ hertz }) => hertz],
  LAMBDA: ['PF', ({ powerFactor }) => powerFactor],
  Q: ['Q', ({ volts, amps, watts }) => Math.sqrt(Math.max(0, (volts * amps) ** 2 - watts ** 2))],
  FI: ['fI', () => NaN],
};

function speakGpm(mouth: Mouth): Ear {
  const items = ['U', 'I', 'P', 'S', 'FU', 'LAMBDA', 'Q', 'FI'];
  let count = 8;
  return scpiEar(mouth, '\r\n', (command, argument) => {
    const is = (name: string): boolean => isCommand(command, name);
    const shown = items.slice(0, count).map((item) => gpmItems[item] ?? (['-', () => NaN] as const));
    const [, digits = ''] = /^NUM(?:ERIC)?:NORM(?:AL)?:ITEM(\d+)$/.exec(command) ?? [];
    if (is('*IDN?')) return 'GWInstek,GPM-8213,SIM000001,V1.05';
    // The query comes back in its short form, in front of the number.
    if (is('NUMeric:NORMal:NUMBer?')) return `:NUM:NORM:NUMB ${String(count)}`;
    if (is('NUMeric:NORMal:HEADer?')) return shown.map(([name]) => name).join(',');
    if (is('NUMeric:NORMal:VALue?')) {
      const reading = mouth.read();
      return shown.map(([, of]) => engineering(reading === null ? NaN : of(reading), 5)).join(',');
    }
    if (is('NUMeric:NORMal:NUMBer')) count = Number(argument);
    else if (digits !== '') items[Number(digits) - 1] = argument.toUpperCase();
    return null;
  });
}

function speakUte(mouth: Mouth): Ear {
  return scpiEar(mouth, '\n', (command) => {
    const is = (name: string): boolean => isCommand(command, name);
    if (is('*IDN?')) return 'UNI-T,UTE9802+,SIM000001,F1.02.';
    if (is('SYSTem:ERRor?')) return '0,No Error';
    const reading = mouth.read();
    if (is('MEASure:POWer:ACTive?'))
      return reading === null || Number.isNaN(reading.watts)
        ? 'NAN'
        : reading.saturated
          ? '9.9E37'
          : reading.watts.toFixed(2);
    if (is('MEASure:VOLTage?')) return (reading?.volts ?? 0).toFixed(1);
    if (is('MEASure:CURRent?')) return (reading?.amps ?? 0).toFixed(3);
    return null;
  });
}

/** GW Instek GPM-8213. */
export const gpm8213: Kind = {
  name: 'gpm8213',
  says: 'GW Instek GPM-8213: SCPI, other names for its columns than were asked for',
  baud: 9600,
  measuring: { ...wall, periodMs: 250, wattsStep: 0.001, ampsStep: 0.00001, maxWatts: 12_000 },
  cannot: [],
  speak: (mouth) => speakGpm(mouth),
};

/** UNI-T UTE9802+, UTE9806+. */
export const ute9800: Kind = {
  name: 'ute9800',
  says: 'UNI-T UTE9802+, UTE9806+: SCPI, one quantity a query',
  baud: 9600,
  measuring: { ...wall, periodMs: 500, wattsStep: 0.01, maxWatts: 12_000 },
  cannot: [],
  speak: (mouth) => speakUte(mouth),
};
