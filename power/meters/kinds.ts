import { hwmon } from './hwmon/meter.js';
import type { MeterKind } from './kind.js';
import { modbus, pzem } from './modbus/kinds.js';

/** Every kind of meter, a line each. */
export const kinds: readonly MeterKind[] = [pzem, modbus, hwmon];
