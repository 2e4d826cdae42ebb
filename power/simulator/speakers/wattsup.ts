import type { Reading } from '../device.js';
import { wall, type Ear, type Kind, type Mouth } from '../speaker.js';

/** Names of the eighteen values of a data packet, in order. */
const fields = 'W,V,A,WH,Cost,WH/Mo,Cost/Mo,Wmax,Vmax,Amax,Wmin,Vmin,Amin,PF,DC,PC,HZ,VA'.split(',');
const ctrlX = 0x18;

function dataPacket(reading: Reading): string {
  const tenths = (value: number): string => (Number.isNaN(value) ? '_' : String(Math.round(value * 10)));
  const values = fields.map((field) => {
    if (field === 'W') return tenths(reading.watts);
    if (field === 'V') return tenths(reading.volts);
    if (field === 'A') return String(Math.round(reading.amps * 1000));
    if (field === 'WH') return tenths(Math.floor(reading.joules / 360) / 10);
    if (field === 'PF') return String(Math.round(reading.powerFactor * 100));
    if (field === 'PC') return '1';
    if (field === 'HZ') return tenths(reading.hertz);
    if (field === 'VA') return tenths(reading.volts * reading.amps);
    return '_';
  });
  return `#d,-,18,${values.join(',')};\r\n`;
}

function speak(mouth: Mouth, baud: number): Ear {
  // HW minor version 1 is the one with a port of 19200 baud.
  const version = `#v,-,8,1,32768,8,${baud === 19_200 ? '1' : '2'},3,31,20090824,33;\r\n`;
  const say = (text: string): void => {
    mouth.say(Buffer.from(text, 'latin1'), 2 + (text.length * 10_000) / baud);
  };
  let heard = '';
  say('WattsUp.NET $ Version: 3.31\r\n');
  return (bytes) => {
    for (const byte of bytes) {
      if (byte === ctrlX) heard = '';
      else if (byte === 0x23) heard = '#';
      else if (byte === 0x3b && heard !== '') {
        obey(heard.slice(1).split(','));
        heard = '';
      } else if (heard !== '' && heard.length < 200) heard += String.fromCharCode(byte);
    }
  };

  function obey([command = '', sub = '', , ...args]: string[]): void {
    if (command === 'L' && sub === 'W' && args[0] === 'E') stream(Math.max(1, Number(args[2]) || 1));
    else if (command === 'L' && sub === 'W') mouth.onUpdate(null);
    else if (command === 'H' && sub === 'R') say(`#h,-,18,${fields.join(',')};\r\n`);
    else if (command === 'R' && sub === 'W') return;
    else say(version); // also for a command that it does not know
  }

  /** Every `interval` updates, which are seconds on a real one. */
  function stream(interval: number): void {
    let update = 0;
    mouth.onUpdate((reading) => {
      if (update++ % interval === 0) say(dataPacket(reading));
    });
  }
}

/** Watts Up? PRO and .NET: ASCII packets, pushed. */
export const wattsup: Kind = {
  name: 'wattsup',
  says: 'Watts Up? PRO, .NET: ASCII packets that it pushes',
  baud: 115_200,
  measuring: { ...wall, maxWatts: 5000 },
  cannot: ['negative'],
  speak,
};
