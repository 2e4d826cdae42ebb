import { z } from 'zod';

/** What one arm asks of the daemon. `request` goes into `text.generate` as it is; `daemon` starts one of its own with these settings. */
const arm = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,39}$/),
  /** Model file or name; the plan's unless given. */
  model: z.string().optional(),
  request: z.record(z.string(), z.unknown()).default({}),
  daemon: z
    .strictObject({
      threads: z.int().min(1).optional(),
      cpus: z.string().optional(),
      activations: z.enum(['f32', 'i16', 'i8']).optional(),
    })
    .default({}),
});

const seconds = z.number().min(0).max(86_400);

/**
 * The plan of a paired experiment. The first arm is the baseline; each other arm is a candidate, paired with it in blocks of its own
 * (ABBA or BAAB, by `seed`).
 */
export const planSchema = z.strictObject({
  name: z.string().min(1).max(80),
  model: z.string().optional(),
  prompt: z.string(),
  /** Tokens of a run, EOS ignored; or `min_seconds`: a pilot of every arm fixes one count for all. Exactly one of the two. */
  tokens: z.int().min(2).optional(),
  min_seconds: seconds.optional(),
  arms: z.array(arm).min(2).max(8),
  /** Of every candidate. */
  blocks: z.int().min(1).max(100).default(6),
  /** Blocks that may be done again, in the whole experiment: the meter was lost, a daemon crashed, the clocks were lowered. */
  redo_blocks: z.int().min(0).max(100).default(3),
  seed: z.int().min(0).default(1),
  /** The windows that the verdict is about; both are always reported. */
  window: z.enum(['decode', 'full']).default('decode'),
  /** Cut off each end; more where the meter's update period needs it. */
  trim_s: seconds.default(2),
  idle_s: seconds.default(60),
  /** Idle again after so many blocks, and always before the first and after the last. */
  idle_every_blocks: z.int().min(1).default(6),
  warm_up: z
    .strictObject({
      /** Until the power's slope is below it, %/min … */
      slope_percent_per_min: z.number().gt(0).default(0.5),
      min_s: seconds.default(30),
      /** … and no longer than this. */
      max_s: seconds.default(600),
    })
    .default({ slope_percent_per_min: 0.5, min_s: 30, max_s: 600 }),
  cool_down_s: seconds.default(10),
  thermal_gate: z
    .strictObject({
      /** A run starts within so many degrees of the first run's start … */
      within_celsius: z.number().gt(0).default(2),
      /** … or after waiting so long, with a warning. */
      max_wait_s: seconds.default(120),
    })
    .default({ within_celsius: 2, max_wait_s: 120 }),
  meter: z
    .strictObject({
      address: z.string().optional(),
      latency_s: z.number().min(0).max(60).default(0),
      /** Instead of the profile's. */
      resolution_watts: z.number().gt(0).optional(),
      accuracy: z.number().min(0).max(0.5).optional(),
    })
    .default({ latency_s: 0 }),
  /** What is inside the number: `wall AC, board and its supply`. */
  boundary: z.string().default(''),
  note: z.string().default(''),
});
export type Plan = z.infer<typeof planSchema>;
