import { SerialLink } from '../../../power/meters/serial-link.js';

/** CRC-16/Modbus bit by bit, as the specification's appendix has it: the product's is by table. */
export function sealed(body: readonly number[]): Uint8Array {
  let crc = 0xffff;
  for (const byte of body) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return Uint8Array.from([...body, crc & 0xff, crc >> 8]);
}

/** Answers of a PZEM-004T: `count` registers of 230.4 V and a power factor of 1, with the watts given. */
export function pzemAnswer(watts: number, count = 10, slave = 1): Uint8Array {
  const tenths = Math.round(watts * 10);
  const milliamps = Math.round((watts / 230.4) * 1000);
  const registers = [
    2304,
    milliamps & 0xffff,
    milliamps >>> 16,
    tenths & 0xffff,
    tenths >>> 16,
    1234,
    0,
    500,
    100,
    0,
  ];
  const bytes = registers.slice(0, count).flatMap((word) => [word >> 8, word & 0xff]);
  return sealed([slave, 4, 2 * count, ...bytes]);
}

export interface Reply {
  readonly afterMs?: number;
  readonly bytes: Uint8Array;
}

export interface Slave {
  /** Requests so far, of eight bytes each. */
  readonly requests: readonly Uint8Array[];
  stop(): Promise<void>;
}

/** Plays a device on a port: `answer` gets each request and its number from 0. Bytes that make no whole request are kept until they do. */
export async function modbusSlave(
  path: string,
  answer: (request: Uint8Array, n: number) => readonly Reply[],
): Promise<Slave> {
  const requests: Uint8Array[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let held: Uint8Array = new Uint8Array();
  const link = await SerialLink.open(
    path,
    { baudRate: 9600 },
    {
      data: (bytes) => {
        held = Buffer.concat([held, bytes]);
        while (held.length >= 8) {
          const request = Uint8Array.from(held.subarray(0, 8));
          held = held.subarray(8);
          for (const reply of answer(request, requests.push(request) - 1)) {
            const send = (): void => void link.write(reply.bytes).catch(() => undefined);
            if (reply.afterMs === undefined) send();
            else timers.add(setTimeout(send, reply.afterMs));
          }
        }
      },
      lost: () => undefined,
    },
  );
  return {
    requests,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer);
      await link.close();
    },
  };
}
