import { openPty } from '../../../client/ctl/meter/pty.js';
import { openMeter } from '../../../power/meters/open.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('scpi: the next reader');
const slowMs = 150;

/** An instrument that answers every query after a while, one after the other. */
function instrument() {
  const pty = openPty();
  let heard = '';
  let afterMs = 0;
  let asked: () => void = () => undefined;
  const answer = (text: string) => setTimeout(() => pty.stream.write(`${text}\n`), afterMs);
  pty.stream.on('data', (bytes: Buffer) => {
    const parts = (heard + bytes.toString('latin1')).split(/[\r\n]+/);
    heard = parts.pop() ?? '';
    for (const query of parts.filter((part) => part.endsWith('?'))) {
      answer(query === '*IDN?' ? 'UNI-T,UTE9802,1,F1' : query.includes('POW') ? '10.4' : '0');
      if (query.includes('POW')) asked();
    }
  });
  return {
    address: `scpi:${pty.path}?profile=ute9800&update_ms=40&timeout_ms=${4 * slowMs}`,
    beSlow: () => (afterMs = slowMs),
    nextQuery: () => new Promise<void>((resolve) => (asked = resolve)),
    hangUp: () => pty.hangUp(),
  };
}

test('an answer that the reader before asked for, and that comes late, is not taken for a name', async () => {
  const { address, beSlow, nextQuery, hangUp } = instrument();
  const before = openMeter(address);
  await before.start({ sample: () => undefined });
  beSlow();
  await nextQuery();
  await before.stop();
  const after = openMeter(address);
  const watts: (number | null)[] = [];
  try {
    await after.start({ sample: (sample) => watts.push(sample.watts) });
  } finally {
    await after.stop();
    hangUp();
  }
  assert.is(after.identity.model, 'UTE9802');
  assert.ok(watts.length > 0 && watts.every((value) => value === 10.4), watts.join());
});

test.run();
