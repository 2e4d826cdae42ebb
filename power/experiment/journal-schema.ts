import { z } from 'zod';
import { invalidReasons } from '../window/figures.js';
import type { JournalEntry } from './record.js';

const count = z.int().min(0);
const ns = z.string().regex(/^\d{1,19}$/);
const orNull = z.string().nullable();
const part = { part: z.int().min(1) };

const environment = z.object({
  version: z.string(),
  commit: z.string(),
  node: z.string(),
  machine: z.object({
    board: orNull,
    cpu: orNull,
    cores: count,
    memory_bytes: count,
    os: z.string(),
    kernel: z.string(),
  }),
  daemons: z.array(
    z.object({
      arms: z.array(z.string()),
      own: z.boolean(),
      version: z.string(),
      commit: z.string(),
      addon_sha256: orNull,
      isa: z.string(),
      threads: count,
      cpus: z.string(),
      activations: z.string(),
      loading: z.string(),
      model: z.object({
        name: z.string(),
        path: z.string(),
        file_sha256: orNull,
        data_sha256: z.string(),
        weights: z.string(),
        parameters: count,
      }),
      context_limit: count,
      max_context: count,
    }),
  ),
  warnings: z.array(z.string()),
});

const machineState = z.object({
  celsius: z.number().nullable(),
  governors: z.array(z.string()),
  clocks_mhz: z.array(z.number()),
  throttled: z.boolean(),
  other_load: z.number().nullable(),
});

const reason = z.object({ reason: z.enum(invalidReasons), text: z.string() });

/** A line of the journal. Later versions may add keys; they are dropped here. */
export const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('part'), ...part, at: z.string(), plan_sha256: z.string(), environment }),
  z.object({
    kind: z.literal('pilot'),
    ...part,
    tokens: z.int().min(1),
    tokens_per_second: z.record(z.string(), z.number()),
  }),
  z.object({ kind: z.literal('idle'), ...part, after_block: count, from_ns: ns, to_ns: ns }),
  z.object({
    kind: z.literal('warm-up'),
    ...part,
    seconds: z.number().min(0),
    steady: z.boolean(),
    watts_per_minute: z.number().nullable(),
  }),
  z.object({
    kind: z.literal('run'),
    ...part,
    block: z.int().min(1),
    slot: count,
    arm: z.string(),
    sent_ns: ns,
    answered_ns: ns,
    tokens: count,
    requests: count,
    ids_sha256: z.string(),
    marks: z.string().regex(/^runs\/[\w.-]+\.csv$/),
    before: machineState,
    after: machineState,
    reasons: z.array(reason),
    warnings: z.array(z.string()).exactOptional(),
  }),
  z.object({
    kind: z.literal('block'),
    ...part,
    block: z.int().min(1),
    done: z.boolean(),
    why: z.string().exactOptional(),
  }),
  z.object({
    kind: z.literal('end'),
    ...part,
    how: z.enum(['complete', 'aborted', 'failed']),
    why: z.string().exactOptional(),
  }),
]) satisfies z.ZodType<JournalEntry>;
