import type { Line } from '../line.js';
import { pause } from '../timing.js';

/** Reads volts in the protocol of the PZEM-004T v1 and v2: B0, an address of its own, a sum. Changes nothing in the meter. */
const voltsRequest = Uint8Array.of(0xb0, 0xc0, 0xa8, 0x01, 0x01, 0x00, 0x1a);
const answerMs = 1_000;

/** Whether bytes hold an answer of the old protocol: seven bytes, A0 to A5 first, their sum last. */
export function isOldAnswer(bytes: Uint8Array): boolean {
  for (let at = 0; at + 7 <= bytes.length; at++) {
    const frame = bytes.subarray(at, at + 7);
    const first = frame[0] ?? 0;
    if (first < 0xa0 || first > 0xa5) continue;
    if ((frame.subarray(0, 6).reduce((sum, byte) => sum + byte, 0) & 0xff) === frame[6]) return true;
  }
  return false;
}

/** Asks in the old protocol, where Modbus got no answer. */
export async function speaksOldProtocol(line: Line): Promise<boolean> {
  let bytes: Uint8Array = new Uint8Array();
  const over = new AbortController();
  const end = (): void => over.abort();
  line.signal.addEventListener('abort', end);
  line.receive((chunk, tNs) => {
    line.received({ tNs, bytes: chunk, fault: 'unexpected' });
    bytes = Buffer.concat([bytes, chunk]);
    if (isOldAnswer(bytes)) end();
  });
  await line.write(voltsRequest);
  await pause(answerMs, over.signal);
  line.signal.removeEventListener('abort', end);
  return isOldAnswer(bytes);
}
