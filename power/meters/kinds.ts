import { hwmon } from './hwmon/meter.js';
import type { MeterKind } from './kind.js';

/** Every kind of meter, a line each. */
export const kinds: readonly MeterKind[] = [hwmon];
