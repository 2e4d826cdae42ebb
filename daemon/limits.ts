import { serverWireLimits } from '../client/protocol/index.js';
import type { SchedulerLimits } from './queue/scheduler.js';

interface LimitRow {
  default: number;
  min: number;
  max: number;
  meaning: string;
}

/** Every cap, once: the wire key in server.info, the option `--max-…`, its default and its range. */
export const limitTable = {
  max_frame_bytes: {
    default: serverWireLimits.maxFrameBytes,
    min: 1024,
    max: 1 << 26,
    meaning: 'bytes of one message',
  },
  max_depth: {
    default: serverWireLimits.maxDepth,
    min: 4,
    max: 64,
    meaning: 'levels of nesting in a message',
  },
  max_items: {
    default: serverWireLimits.maxItems,
    min: 64,
    max: 1 << 20,
    meaning: 'items of an array or pairs of a map',
  },
  max_text_bytes: {
    default: 1 << 18,
    min: 1,
    max: 1 << 26,
    meaning: 'bytes of a text given to the tokenizer',
  },
  max_connections: { default: 64, min: 1, max: 4096, meaning: 'connections at a time' },
  max_active: { default: 4, min: 1, max: 256, meaning: 'requests that the engine serves together' },
  max_connection_active: { default: 256, min: 1, max: 256, meaning: 'of those, requests of one connection' },
  max_queue: {
    default: 128,
    min: 0,
    max: 65_536,
    meaning: 'requests that wait for their turn, beyond the active ones',
  },
  max_connection_queue: {
    default: 64,
    min: 0,
    max: 65_536,
    meaning: 'of those, requests of one connection',
  },
  max_sessions: { default: 64, min: 0, max: 65_536, meaning: 'sessions that are open at a time' },
  max_connection_sessions: {
    default: 16,
    min: 0,
    max: 65_536,
    meaning: 'of those, sessions of one connection',
  },
  max_tokens: { default: 4096, min: 1, max: 1 << 20, meaning: 'max_tokens of one request' },
  max_unread_bytes: {
    default: 1 << 18,
    min: 4096,
    max: 1 << 28,
    meaning: 'answers a client has not read before its work pauses',
  },
} as const satisfies Record<string, LimitRow>;

export type LimitName = keyof typeof limitTable;
export type Limits = Record<LimitName, number>;

export const limitNames = Object.keys(limitTable) as LimitName[];

/** As the queue knows them. */
export function schedulerLimits(limits: Limits): SchedulerLimits {
  return {
    maxActive: limits.max_active,
    maxQueue: limits.max_queue,
    maxOwnActive: limits.max_connection_active,
    maxOwnQueue: limits.max_connection_queue,
  };
}
