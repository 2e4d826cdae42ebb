import { z } from 'zod';
import { maxStopBytes, maxStops, maxStreamIdBytes } from './limits.js';

/** Building blocks of messages.ts: one schema a kind of value. */

const maxUint32 = 0xffff_ffff;
const maxUint64 = 2n ** 64n - 1n;

function text(maxBytes: number) {
  return z
    .string()
    .refine((value) => Buffer.byteLength(value) <= maxBytes, { error: `at most ${maxBytes} bytes` });
}

/** The caller's name of a stream: u32, or 1 to 64 bytes of text. Unique among the connection's active streams. */
export const streamId = z.union([z.int().min(0).max(maxUint32), text(maxStreamIdBytes).min(1)]);
export type StreamId = z.infer<typeof streamId>;

/** A vocabulary index. */
export const tokenId = z.int().min(0).max(0x7fff_ffff);

/** A loaded model's name, or a path under a model directory where model.load takes one. */
export const modelName = z.string().min(1).max(4096);

/** 0 to 2^64 - 1. Seeds that the daemon draws stay below 2^53, so that every language can hold them. */
export const seed = z.union([z.int().min(0), z.bigint().min(0n).max(maxUint64)]);

export const stops = z.array(text(maxStopBytes).min(1)).max(maxStops);

/** The daemon's name of a session; never used twice. */
export const sessionId = z.int().min(0);

/** Up to a day. */
export const durationMs = z.int().min(1).max(86_400_000);

/** A size, count or duration in an answer. */
export const count = z.number().int().min(0);

/** CLOCK_MONOTONIC, nanoseconds; passes 2^53 after 104 days of uptime, hence always a bigint here. */
export const timeNs = z.union([z.int().min(0), z.bigint()]).transform((value) => BigInt(value));

/** Share from 0 to 1. */
export const share = z.number().min(0).max(1);
