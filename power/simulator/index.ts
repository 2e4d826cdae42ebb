/** A meter without hardware: what `spikectl meter simulate`, `simulate:` and the tests use. */
export { faultKinds, parseFault, type Fault, type FaultKind } from './faults.js';
export { kindNamed, kinds } from './kinds.js';
export type { Line } from './line.js';
export { loadPower, type LoadSettings } from './load.js';
export { simulate, type Simulation, type Simulator } from './simulator.js';
export { constantPower, parseSteps, steppedPower, type PowerSource, type Step } from './source.js';
export type { Measuring } from './device.js';
