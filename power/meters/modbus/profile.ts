import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SpikedError } from '../../../client/protocol/errors.js';

const types = ['u16', 'i16', 'u32', 'i32', 'f32'] as const;
export type RegisterType = (typeof types)[number];

const value = z.strictObject({
  /** Its first register; the block's `start` counts as well. */
  register: z.int().min(0).max(0xffff),
  type: z.enum(types),
  /** To volts, amperes, watts, joules, hertz; 0.1 where the register holds tenths. */
  scale: z.number().positive().default(1),
});
export type RegisterValue = z.output<typeof value>;

const milliseconds = z.number().min(1).max(60_000);

const shape = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,39}$/),
  maker: z.string().nullable().default(null),
  model: z.string().nullable().default(null),
  serial: z
    .strictObject({
      baud: z.int().min(50).max(4_000_000).default(9600),
      parity: z.enum(['none', 'even', 'odd']).default('none'),
      stop_bits: z.union([z.literal(1), z.literal(2)]).default(1),
    })
    .default({ baud: 9600, parity: 'none', stop_bits: 1 }),
  slave: z.int().min(1).max(0xf8).default(1),
  function_code: z.union([z.literal(3), z.literal(4)]),
  start: z.int().min(0).max(0xffff),
  /**
   * Registers of a block, first choice first. With a second length an answer that is far too late is known by its length: give one where
   * the device takes it and the watts are still inside.
   */
  counts: z.array(z.int().min(1).max(125)).min(1).max(2),
  /** Of 32-bit values: which register comes first, and which byte in each. */
  words: z.enum(['high-first', 'low-first']).default('high-first'),
  bytes: z.enum(['high-first', 'low-first']).default('high-first'),
  values: z.strictObject({
    watts: value,
    volts: value.optional(),
    amps: value.optional(),
    /** The meter's energy counter, in joules by its scale: 3600 for watt-hours. */
    joules: value.optional(),
    hertz: value.optional(),
    power_factor: value.optional(),
  }),
  /** Registers by which the meter says that it is over its limits. */
  alarms: z
    .array(z.strictObject({ register: z.int().min(0).max(0xffff), equals: z.int().min(0).max(0xffff) }))
    .default([]),
  current: z.enum(['alternating', 'direct']),
  rule: z.enum(['backward-rectangle', 'trapezoid']).default('backward-rectangle'),
  update_ms: milliseconds,
  step_watts: z.number().positive(),
  accuracy: z.number().min(0).max(0.5).nullable().default(null),
  max_watts: z.number().positive().nullable().default(null),
  max_amps: z.number().positive().nullable().default(null),
  /** What it may show when it is connected: other volts are another meter's, or another unit. */
  volts_between: z.tuple([z.number(), z.number()]).nullable().default(null),
  answer_ms: milliseconds.default(500),
  worst_ms: milliseconds.default(1500),
  crc: z.enum(['strict', 'warn', 'ignore']).default('strict'),
});

const registers = (type: RegisterType): number => (type === 'u16' || type === 'i16' ? 1 : 2);

export const profileSchema = shape.superRefine((profile, context) => {
  const longest = Math.max(...profile.counts);
  const shortest = Math.min(...profile.counts);
  const place = (register: number, length: number, count: number, path: (string | number)[]): void => {
    if (register >= profile.start && register + length <= profile.start + count) return;
    const block = `registers ${profile.start} to ${profile.start + count - 1}`;
    context.addIssue({
      code: 'custom',
      path,
      message: `register ${register} lies outside the block, ${block}`,
    });
  };
  for (const [name, entry] of Object.entries(profile.values)) {
    if (entry === undefined) continue;
    const count = name === 'watts' ? shortest : longest;
    place(entry.register, registers(entry.type), count, ['values', name, 'register']);
  }
  profile.alarms.forEach(({ register }, i) => place(register, 1, longest, ['alarms', i, 'register']));
  if (profile.start + longest > 0x10000)
    context.addIssue({ code: 'custom', path: ['counts'], message: 'the block ends behind register 65535' });
  if (profile.worst_ms < profile.answer_ms)
    context.addIssue({ code: 'custom', path: ['worst_ms'], message: 'expected no less than answer_ms' });
});

/** A register map and what is known of its meter; docs/meters.md describes every key. */
export type Profile = z.output<typeof profileSchema>;

/**
 * A profile from a value.
 *
 * @param where  file or name, for errors
 * @throws SpikedError ERR_PLAN_INVALID a key is unknown, missing or wrong; the error names it
 */
export function parseProfile(input: unknown, where: string): Profile {
  const parsed = profileSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'profile'}: ${message}`);
  throw new SpikedError('ERR_PLAN_INVALID', `${where}: ${faults.join('; ')}`);
}

/**
 * The profile in a JSON file.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND there is no such file; ERR_PLAN_INVALID it is no profile
 */
export function readProfile(path: string): Profile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new SpikedError('ERR_FILE_NOT_FOUND', `${path}: ${(error as Error).message}`, { cause: error });
  }
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    throw new SpikedError('ERR_PLAN_INVALID', `${path}: expected JSON: ${(error as Error).message}`);
  }
  return parseProfile(input, path);
}
