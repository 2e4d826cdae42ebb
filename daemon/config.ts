import { z } from 'zod';
import {
  checkSocketPath,
  defaultSocketPath,
  describeIssue,
  SpikedError,
  type NamePath,
} from '../client/protocol/index.js';
import { limitNames, limitTable, type LimitName } from './limits.js';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const milliseconds = z.int().min(0).max(86_400_000);
const mebibytes = z
  .int()
  .min(0)
  .max(1 << 20);
const ids = z.array(
  z
    .int()
    .min(0)
    .max(2 ** 32 - 2),
);
const limits = z.strictObject(
  Object.fromEntries(
    limitNames.map((name) => {
      const { min, max, default: value, meaning } = limitTable[name];
      return [name, z.int().min(min).max(max).default(value).describe(meaning)];
    }),
  ) as Record<LimitName, z.ZodDefault<z.ZodInt>>,
);

/**
 * Every setting, once: what startDaemon takes, what a configuration file may say (in snake_case), and what its schema says of it. The command
 * line is one more way to write them.
 */
export const settings = z.strictObject({
  models: z
    .array(z.string().min(1))
    .min(1)
    .describe('GGUF files, and folders of them. The first one is the default model'),
  socketPath: z.string().optional().describe('Unix socket to listen at'),
  socketMode: z
    .string()
    .regex(/^0?[0-7]{3}$/, 'an octal mode such as "0660"')
    .default('0660')
    .describe('mode of the socket; connecting takes write permission'),
  socketGroup: z
    .string()
    .min(1)
    .optional()
    .describe("group of the socket, by name or number; the process's own unless given"),
  allowUids: ids.optional().describe('users that may connect, beside those of allow_gids; all unless given'),
  allowGids: ids
    .optional()
    .describe('groups whose members may connect, beside the users of allow_uids; all unless given'),
  threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe('threads of the engine: one for each big core, or for each of cpus, unless given'),
  cpus: z
    .string()
    .optional()
    .describe(
      'CPUs of the threads: a list such as 4-7, or none; the big cores, where cores differ, unless given',
    ),
  loading: z
    .enum(['readahead', 'prefault', 'huge_pages', 'locked'])
    .default('readahead')
    .describe('how models come into memory'),
  isa: z
    .string()
    .optional()
    .describe('instruction set by name: SPIKED_FORCE_ISA, else the best of this CPU, unless given'),
  activations: z
    .enum(['f32', 'i16', 'i8'])
    .default('f32')
    .describe("precision of the blocks' dense products; f32 is the reference"),
  contextTokens: z
    .int()
    .min(1)
    .max(1 << 20)
    .optional()
    .describe(
      "tokens that a request may reach, prompt included, instead of the model's own maximum; a ternary model's sessions have room for as many",
    ),
  kv: z
    .enum(['f32', 'f16'])
    .default('f32')
    .describe('ternary models: how keys and values are kept; f16 halves them, and is another model than f32'),
  memory: z
    .enum(['normal', 'low'])
    .default('normal')
    .describe(
      'ternary models: low keeps no F16 table in memory and reads its rows from the file, with the same bits',
    ),
  contract: z
    .enum(['bitnet', 'hyphae'])
    .default('bitnet')
    .describe('ternary models: how activations are rounded; bitnet is how they were trained'),
  headBits: z
    .literal([4, 8])
    .default(8)
    .describe(
      'ternary models: bits of a weight in the first pass of the heads certified and topk; 4 takes half of the memory, and more rows are verified',
    ),
  prefixCacheMib: mebibytes
    .default(0)
    .describe(
      'MiB, a model, for what prompts left behind. Requests that begin alike start there; whether they did shows in their time',
    ),
  ramBudgetBytes: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      'bytes that the process may come to hold: a model or a session that would cross it is refused; what it holds at the start and nine tenths of what machine and control groups can still give, unless given',
    ),
  limits: limits.prefault({}),
  logLevel: z.enum(logLevels).default('info'),
  logText: z.boolean().default(false).describe('log prompts and generated texts, too'),
  selfTest: z
    .boolean()
    .default(true)
    .describe('compare every kernel with scalar code at the start, while models load'),
  drainMs: milliseconds
    .default(5_000)
    .describe('milliseconds that running requests get to finish when the daemon stops'),
  slowReaderMs: milliseconds
    .default(30_000)
    .describe('milliseconds without progress until a client that does not read its answers is dropped'),
  sessionIdleMs: milliseconds
    .min(1)
    .default(600_000)
    .describe('milliseconds without a request until a session is closed'),
  messageMs: milliseconds
    .default(30_000)
    .describe('milliseconds that a message may take from its first byte to its last'),
});

export type DaemonOptions = z.input<typeof settings>;
/** What one source of settings gives. */
export type GivenOptions = { [K in keyof DaemonOptions]?: DaemonOptions[K] | undefined };
export type Config = z.output<typeof settings> & { socketPath: string };

/**
 * @param name  how messages call a setting
 * @throws SpikedError ERR_CONFIG_INVALID or ERR_SOCKET_PATH naming the setting
 */
export function readConfig(options: DaemonOptions, name?: NamePath): Config {
  const parsed = settings.safeParse(options);
  if (!parsed.success) {
    throw new SpikedError('ERR_CONFIG_INVALID', describeIssue(parsed.error, options, name));
  }
  const socketPath = parsed.data.socketPath ?? defaultSocketPath();
  checkSocketPath(socketPath);
  return { ...parsed.data, socketPath };
}
