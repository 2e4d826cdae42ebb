import { setTimeout as sleep } from 'node:timers/promises';
import { openPty } from '../../../client/ctl/meter/pty.js';

/** A Watts Up? on a pseudo-terminal that remembers all it heard. */
export interface WattsUp {
  readonly path: string;
  readonly heard: () => string;
  /** It was told to send data, and does. */
  readonly pushing: () => boolean;
  /** Waits until it was told to stop sending; false when nobody did. */
  readonly toldToStop: () => Promise<boolean>;
  stop(): void;
}

/** Ten values a second, whatever it is asked for. */
export function openWattsUp(): WattsUp {
  const pty = openPty();
  let heard = '';
  let pushing: NodeJS.Timeout | undefined;
  pty.stream.on('data', (bytes: Buffer) => {
    heard += bytes.toString('latin1');
    if (heard.endsWith('#V,R,0;')) pty.stream.write('#v,-,8,1,32768,8,2,3,31,20090824,33;');
    if (/#L,W,3,E,[^;]*;$/.test(heard))
      pushing ??= setInterval(
        () => pty.stream.write('#d,-,18,103,2304,87,12,0,_,_,_,_,_,_,_,_,51,_,0,500,201;'),
        100,
      );
  });
  return {
    path: pty.path,
    heard: () => heard,
    pushing: () => pushing !== undefined,
    toldToStop: async () => {
      const told = () => pushing !== undefined && heard.endsWith('#L,W,0;');
      // Of a program that has ended the last bytes may still lie in the terminal.
      for (let i = 0; i < 200 && !told(); i++) await sleep(10);
      return told();
    },
    stop: () => {
      clearInterval(pushing);
      pty.hangUp();
    },
  };
}
