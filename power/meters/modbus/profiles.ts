import { parseProfile, type Profile } from './profile.js';

/**
 * Register maps that ship, in the form of a user's JSON file.
 *
 * @source maps and scales: the makers' manuals as read by public drivers; golden frames of each are in test/power/meters
 */
const shipped: Record<string, unknown>[] = [
  {
    // v3, v4, and over RS-485 the PZEM-014 (10 A shunt) and PZEM-016 (100 A transformer).
    name: 'pzem-004t',
    maker: 'Peacefair',
    model: 'PZEM-004T v3/v4, PZEM-014/-016',
    function_code: 4,
    start: 0,
    counts: [10, 9],
    words: 'low-first',
    values: {
      volts: { register: 0, type: 'u16', scale: 0.1 },
      amps: { register: 1, type: 'u32', scale: 0.001 },
      watts: { register: 3, type: 'u32', scale: 0.1 },
      joules: { register: 5, type: 'u32', scale: 3600 },
      hertz: { register: 7, type: 'u16', scale: 0.1 },
      power_factor: { register: 8, type: 'u16', scale: 0.01 },
    },
    alarms: [{ register: 9, equals: 0xffff }],
    current: 'alternating',
    update_ms: 1000,
    step_watts: 0.1,
    accuracy: 0.005,
    max_watts: 23_000,
    max_amps: 100,
    volts_between: [80, 260],
  },
  {
    name: 'pzem-dc',
    maker: 'Peacefair',
    model: 'PZEM-003/-017',
    serial: { baud: 9600, parity: 'none', stop_bits: 2 },
    function_code: 4,
    start: 0,
    counts: [8, 7],
    words: 'low-first',
    values: {
      volts: { register: 0, type: 'u16', scale: 0.01 },
      amps: { register: 1, type: 'u16', scale: 0.01 },
      watts: { register: 2, type: 'u32', scale: 0.1 },
      joules: { register: 4, type: 'u32', scale: 3600 },
    },
    alarms: [{ register: 6, equals: 0xffff }],
    current: 'direct',
    update_ms: 1000,
    step_watts: 0.1,
    accuracy: 0.01,
    max_watts: 90_000,
    max_amps: 300,
    volts_between: [0.05, 300],
  },
  {
    // Floats byte by byte from the low end. Some units send a wrong checksum always: crc=ignore.
    name: 'hp-9800',
    maker: 'HOPI',
    model: 'HP-9800',
    function_code: 3,
    start: 0,
    counts: [20, 18],
    words: 'low-first',
    bytes: 'low-first',
    values: {
      watts: { register: 0, type: 'f32' },
      amps: { register: 2, type: 'f32' },
      volts: { register: 4, type: 'f32' },
      hertz: { register: 6, type: 'f32' },
      power_factor: { register: 8, type: 'f32' },
      joules: { register: 12, type: 'f32', scale: 3.6e6 },
    },
    current: 'alternating',
    update_ms: 1000,
    step_watts: 0.01,
    max_watts: 4_600,
    max_amps: 20,
    volts_between: [80, 280],
  },
  {
    name: 'sdm120',
    maker: 'Eastron',
    model: 'SDM120',
    serial: { baud: 2400 },
    function_code: 4,
    start: 0,
    counts: [14, 20],
    values: {
      volts: { register: 0, type: 'f32' },
      amps: { register: 6, type: 'f32' },
      watts: { register: 12, type: 'f32' },
    },
    current: 'alternating',
    update_ms: 1000,
    step_watts: 0.1,
    accuracy: 0.01,
    max_watts: 12_000,
    max_amps: 50,
    volts_between: [80, 280],
  },
  {
    name: 'sdm230',
    maker: 'Eastron',
    model: 'SDM230',
    serial: { baud: 2400 },
    function_code: 4,
    start: 0,
    counts: [14, 20],
    values: {
      volts: { register: 0, type: 'f32' },
      amps: { register: 6, type: 'f32' },
      watts: { register: 12, type: 'f32' },
    },
    current: 'alternating',
    update_ms: 1000,
    step_watts: 0.1,
    accuracy: 0.01,
    max_watts: 25_000,
    max_amps: 100,
    volts_between: [80, 280],
  },
];

/** By name. */
export const profiles: ReadonlyMap<string, Profile> = new Map(
  shipped.map((input) => {
    const profile = parseProfile(input, 'built-in profile');
    return [profile.name, profile];
  }),
);
