import { SpikedError } from '../../client/protocol/errors.js';
import type { Kind } from './speaker.js';
import { hopi, sdm120 } from './speakers/float-meters.js';
import { gpm8213, ute9800 } from './speakers/bench-meters.js';
import { lines } from './speakers/lines.js';
import { pzem, pzemDc } from './speakers/pzem.js';
import { wattsup } from './speakers/wattsup.js';
import { wt310 } from './speakers/wt310.js';

/** Every kind of meter that can be simulated. */
export const kinds: readonly Kind[] = [pzem, pzemDc, hopi, sdm120, wattsup, lines, wt310, gpm8213, ute9800];

/** @throws SpikedError ERR_INVALID_ARGUMENT naming the kinds that there are */
export function kindNamed(name: string): Kind {
  const found = kinds.find((kind) => kind.name === name);
  if (found === undefined)
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `kind of meter: expected one of ${kinds.map((kind) => kind.name).join(', ')}, found "${name}"`,
    );
  return found;
}
