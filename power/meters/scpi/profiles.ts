import type { MeterTraits } from '../meter.js';

/** What an answer's columns hold, by position: names differ between what is asked and what comes back. */
export type Column = 'watts' | 'volts' | 'amps';

/** An instrument that answers text queries, as data. */
export interface ScpiProfile {
  readonly name: string;
  readonly summary: string;
  /** What `*IDN?` must say. */
  readonly identity: RegExp;
  readonly baudRate: number;
  /** Ends a command. */
  readonly end: '\r\n' | '\n';
  /** Sent once it is known who it is. */
  readonly setup: readonly string[];
  /** A query whose answer must end in this word, or the setup did not take. */
  readonly verify?: { readonly query: string; readonly ends: string };
  /** Sent before each reading: the instrument then holds its answer back until a new value is there. */
  readonly wait?: string;
  readonly read: string;
  readonly columns: readonly Column[];
  /** Queries after each reading whose answers are bits; any bit of `over` says that the range was exceeded. */
  readonly status?: { readonly queries: readonly string[]; readonly over: number };
  /** Sent at the end. */
  readonly farewell: readonly string[];
  /** Slowest that it may be set to update; an address with update_ms knows better. */
  readonly slowestUpdateMs: number;
  readonly traits: MeterTraits;
}

const wall = { rule: 'backward-rectangle', current: 'alternating' } as const;

/**
 * Yokogawa WT310, WT310E. Setup as yokotool has it; the condition register's bits 6, 7, 8 are range over, voltage peak over, current peak over
 * of element 1, and filter N belongs to bit N - 1 (IM WT310E-17EN, 7.4).
 */
const wt310: ScpiProfile = {
  name: 'wt310',
  summary: 'Yokogawa WT310, WT310E, WT310EH over RS-232 (null-modem cable)',
  identity: /^YOKOGAWA,\s*(76\d+-)?WT3\d\d/i,
  baudRate: 9600,
  end: '\r\n',
  setup: [
    '*CLS',
    ':COMMUNICATE:REMOTE ON',
    ':COMMUNICATE:VERBOSE ON',
    ':COMMUNICATE:HEADER OFF',
    ':NUMERIC:FORMAT ASCII',
    ':NUMERIC:NORMAL:NUMBER 3',
    ':NUMERIC:NORMAL:ITEM1 P',
    ':NUMERIC:NORMAL:ITEM2 U',
    ':NUMERIC:NORMAL:ITEM3 I',
    ':STATUS:FILTER1 FALL',
    ':STATUS:FILTER7 RISE',
    ':STATUS:FILTER8 RISE',
    ':STATUS:FILTER9 RISE',
    ':STATUS:EESR?',
  ],
  verify: { query: ':NUMERIC:NORMAL:NUMBER?', ends: '3' },
  wait: ':COMMUNICATE:WAIT 1',
  read: ':NUMERIC:NORMAL:VALUE?',
  columns: ['watts', 'volts', 'amps'],
  // Events tell of a short excess and clear what `wait` waits for; the condition tells of a lasting one.
  status: { queries: [':STATUS:EESR?', ':STATUS:CONDITION?'], over: (1 << 6) | (1 << 7) | (1 << 8) },
  farewell: [':COMMUNICATE:REMOTE OFF'],
  slowestUpdateMs: 5000,
  // 0.1 % of reading and 0.05 % of range; the step is that of a 60 W range.
  traits: { ...wall, resolutionWatts: 0.001, accuracy: 0.002, updatePeriodNs: 250e6, maxWatts: null },
};

/** GW Instek GPM-8213: the query of a setting comes back in short form, items under other names than were asked for. */
const gpm8213: ScpiProfile = {
  name: 'gpm8213',
  summary: 'GW Instek GPM-8213 over its USB serial port or RS-232',
  identity: /^GW\s?Instek,\s*GPM-8/i,
  baudRate: 9600,
  end: '\r\n',
  setup: [
    ':NUMERIC:NORMAL:NUMBER 3',
    ':NUMERIC:NORMAL:ITEM1 P',
    ':NUMERIC:NORMAL:ITEM2 U',
    ':NUMERIC:NORMAL:ITEM3 I',
  ],
  verify: { query: ':NUMERIC:NORMAL:NUMBER?', ends: '3' },
  read: ':NUMERIC:NORMAL:VALUE?',
  columns: ['watts', 'volts', 'amps'],
  farewell: [],
  slowestUpdateMs: 2000,
  traits: { ...wall, resolutionWatts: 0.001, accuracy: null, updatePeriodNs: 250e6, maxWatts: null },
};

/** UNI-T UTE9802+, UTE9806+: a quantity a query, so that only one is of one moment: the power. */
const ute9800: ScpiProfile = {
  name: 'ute9800',
  summary: 'UNI-T UTE9802+, UTE9806+ over USB or RS-232',
  identity: /^UNI-?T,\s*UTE98/i,
  baudRate: 9600,
  end: '\n',
  setup: [],
  read: ':MEASURE:POWER:ACTIVE?',
  columns: ['watts'],
  farewell: [],
  slowestUpdateMs: 2000,
  traits: { ...wall, resolutionWatts: 0.01, accuracy: null, updatePeriodNs: 500e6, maxWatts: null },
};

export const scpiProfiles: readonly ScpiProfile[] = [wt310, gpm8213, ute9800];
