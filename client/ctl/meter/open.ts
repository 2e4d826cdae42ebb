import type { Meter } from '../../../power/meters/meter.js';
import { openMeter as openWith } from '../../../power/meters/open.js';
import { launchSimulator } from './launch.js';

/** The meter of an address (power/meters/open.ts), `simulate:` among them. */
export function openMeter(address: string): Meter {
  return openWith(address, { simulator: launchSimulator });
}
