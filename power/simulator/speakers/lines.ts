import { wall, type Kind } from '../speaker.js';

/** A meter, or a script beside one, that writes its watts as a plain number a line. */
export const lines: Kind = {
  name: 'lines',
  says: 'a plain number of watts a line, pushed',
  baud: 9600,
  measuring: { ...wall },
  cannot: [],
  speak: (mouth) => {
    mouth.onUpdate(({ watts }) => mouth.say(Buffer.from(`${watts.toFixed(3)}\r\n`, 'latin1'), 0));
    return () => undefined;
  },
};
