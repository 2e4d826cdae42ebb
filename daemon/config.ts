import { z } from 'zod';
import { checkSocketPath, defaultSocketPath, describeIssue, SpikedError } from '../client/protocol/index.js';
import type { Loading } from '../native/host/index.js';
import { defaultLimits, limitNames, limitTable, type Limits } from './limits.js';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** What startDaemon takes; the command line is one way to write it. */
export interface DaemonOptions {
  /** GGUF files, and folders of them. The first one is the default model. */
  models: string[];
  socketPath?: string | undefined;
  /** One for each big core, or for each of `cpus`, unless given. */
  threads?: number | undefined;
  /** CPUs of the threads: a list such as `4-7`, or `none`; the big cores, where cores differ, unless given. */
  cpus?: string | undefined;
  /** How models come into memory; `readahead` unless given. */
  loading?: Loading | undefined;
  /** Instruction set by name; SPIKED_FORCE_ISA, else the best, unless given. */
  isa?: string | undefined;
  /** Precision of the blocks' dense products: f32 (the reference) unless i8 is asked for. */
  activations?: 'f32' | 'i16' | 'i8' | undefined;
  /** Tokens that a request may reach, prompt included, instead of the model's own maximum. */
  context?: number | undefined;
  /** MiB, a model, for what prompts left behind. Requests that begin alike start there; whether they did shows in their time. */
  prefixCacheMib?: number | undefined;
  limits?: Partial<Limits> | undefined;
  logLevel?: (typeof logLevels)[number] | undefined;
  /** Milliseconds that running requests get to finish when the daemon stops. */
  drainMs?: number | undefined;
  /** Milliseconds without progress until a client that does not read its answers is dropped. */
  slowReaderMs?: number | undefined;
  /** Milliseconds that a message may take from its first byte to its last. */
  messageMs?: number | undefined;
}

export interface Config {
  models: string[];
  socketPath: string;
  threads: number | undefined;
  cpus: string | undefined;
  loading: Loading;
  isa: string | undefined;
  activations: 'f32' | 'i16' | 'i8';
  context: number | undefined;
  prefixCacheMib: number;
  limits: Limits;
  logLevel: (typeof logLevels)[number];
  drainMs: number;
  slowReaderMs: number;
  messageMs: number;
}

const milliseconds = z.int().min(0).max(86_400_000);
const limits = z.strictObject(
  Object.fromEntries(
    limitNames.map((name) => [name, z.int().min(limitTable[name].min).max(limitTable[name].max).optional()]),
  ),
);

const schema = z.strictObject({
  models: z.array(z.string().min(1)).min(1),
  socketPath: z.string().optional(),
  threads: z.int().min(1).max(256).optional(),
  cpus: z.string().optional(),
  loading: z.enum(['readahead', 'prefault', 'huge_pages']).default('readahead'),
  isa: z.string().optional(),
  activations: z.enum(['f32', 'i16', 'i8']).default('f32'),
  context: z
    .int()
    .min(1)
    .max(1 << 20)
    .optional(),
  prefixCacheMib: z
    .int()
    .min(0)
    .max(1 << 20)
    .default(0),
  limits: limits.optional(),
  logLevel: z.enum(logLevels).default('info'),
  drainMs: milliseconds.default(5_000),
  slowReaderMs: milliseconds.default(30_000),
  messageMs: milliseconds.default(30_000),
});

/** @throws SpikedError ERR_CONFIG_INVALID or ERR_SOCKET_PATH naming the setting */
export function readConfig(options: DaemonOptions): Config {
  const parsed = schema.safeParse(options);
  if (!parsed.success) {
    throw new SpikedError('ERR_CONFIG_INVALID', describeIssue(parsed.error, options));
  }
  const {
    models,
    threads,
    cpus,
    loading,
    isa,
    activations,
    context,
    prefixCacheMib,
    logLevel,
    drainMs,
    slowReaderMs,
    messageMs,
  } = parsed.data;
  const socketPath = parsed.data.socketPath ?? defaultSocketPath();
  checkSocketPath(socketPath);
  return {
    models,
    socketPath,
    threads,
    cpus,
    loading,
    isa,
    activations,
    context,
    prefixCacheMib,
    limits: { ...defaultLimits(), ...options.limits },
    logLevel,
    drainMs,
    slowReaderMs,
    messageMs,
  };
}
