import { lines } from './ascii/lines.js';
import { wattsup } from './ascii/wattsup.js';
import { hwmon } from './hwmon/meter.js';
import type { MeterKind } from './kind.js';
import { hopi, modbus, pzem } from './modbus/kinds.js';
import { replay } from './replay.js';
import { scpi } from './scpi/scpi.js';
import { simulate } from './simulate.js';

/** Every kind of meter, a line each. */
export const kinds: readonly MeterKind[] = [
  pzem,
  hopi,
  modbus,
  wattsup,
  lines,
  scpi,
  hwmon,
  replay,
  simulate,
];
