/**
 * An experiment's folder, made of powers and rates that are known: what `energy run` leaves, written by hand from the description of the
 * formats, so that the product's own writers are not what they are checked with.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { orderOf } from '../../../power/experiment/order.js';
import { planSchema, type Plan } from '../../../power/experiment/plan.js';
import { planText } from '../../../power/experiment/read-plan.js';
import type { JournalEntry, RunEntry } from '../../../power/experiment/record.js';

export interface SyntheticArm {
  readonly name: string;
  /** W while it generates, W; may differ from run to run. */
  readonly watts: (block: number, slot: number) => number;
  readonly tokensPerSecond: number;
  readonly ids?: string;
}

export interface SyntheticOptions {
  readonly arms: readonly SyntheticArm[];
  readonly blocks: number;
  readonly tokens: number;
  /** Further keys of the plan. */
  readonly plan?: Record<string, unknown>;
  readonly idleWatts?: number;
  /** Between two samples, ms. */
  readonly periodMs?: number;
  /** What the meter rounds to, W. */
  readonly stepWatts?: number;
  readonly accuracy?: number | null;
  readonly simulated?: boolean;
  /** The program was started again before this block, the machine with it: a part of its own. */
  readonly secondPartAt?: number;
  /** A first attempt of this block that was broken off after so many runs. */
  readonly brokenOff?: { readonly block: number; readonly runs: number; readonly why: string };
  /** Changes samples as they are written: the line, or nothing. */
  readonly sample?: (tS: number, watts: number) => string | undefined;
  readonly run?: (run: RunEntry) => RunEntry;
  /** Of a run that is not like the others. */
  readonly tokensOf?: (block: number, slot: number) => number;
  /** The wall clock was set meanwhile, s. */
  readonly wallJumpS?: number;
}

/** The files of the folder by their paths. */
export type Files = Map<string, string>;

const prefillS = 0.5;
const gapS = 3;
const second = 1_000_000_000;
const ns = (s: number): bigint => BigInt(Math.round(s * second));

/** One start of the program while it is written. */
class Part {
  #now = 1000;
  readonly levels: { readonly fromS: number; readonly watts: number }[] = [];

  get now(): number {
    return this.#now;
  }

  draw(watts: number, seconds: number): [number, number] {
    this.levels.push({ fromS: this.#now, watts });
    this.#now += seconds;
    return [this.#now - seconds, this.#now];
  }
}

export function syntheticFiles(options: SyntheticOptions): Files {
  const plan = planOf(options);
  const { idleWatts = 3 } = options;
  const files: Files = new Map([['plan.json', planText(plan)]]);
  const planSha = createHash('sha256').update(planText(plan)).digest('hex');
  const journal: JournalEntry[] = [];
  let part = new Part();
  let number = 0;
  const begin = () => {
    part = new Part();
    number++;
    journal.push({ kind: 'part', part: number, at: `2026-03-0${number}T10:00:00.000Z`, plan_sha256: planSha, environment }); // prettier-ignore
    part.draw(idleWatts, 2);
    journal.push({ kind: 'warm-up', part: number, seconds: 30, steady: true, watts_per_minute: 0.01 });
  };
  const idle = (after: number) => {
    const [from, to] = part.draw(idleWatts, plan.idle_s);
    journal.push({ kind: 'idle', part: number, after_block: after, from_ns: String(ns(from)), to_ns: String(ns(to)) }); // prettier-ignore
    part.draw(idleWatts, gapS);
  };
  const end = () => {
    part.draw(idleWatts, 2);
    writeTrace(files, number, part, options);
  };
  const run = (block: number, slot: number, name: string, attempt: number) => {
    const arm = options.arms.find((one) => one.name === name);
    if (arm === undefined) throw new Error(`no arm ${name}`);
    const tokens = options.tokensOf?.(block, slot) ?? options.tokens;
    const [sent, answered] = part.draw(arm.watts(block, slot), prefillS + tokens / arm.tokensPerSecond + 0.01); // prettier-ignore
    const marks = `runs/${block}-${slot}${attempt > 1 ? `-${attempt}` : ''}.csv`;
    const lines = Array.from({ length: tokens }, (_, i) => `${i},${ns(sent + prefillS + i / arm.tokensPerSecond)}`); // prettier-ignore
    files.set(marks, `seq,t_ns\n${lines.join('\n')}\n`);
    const ids = createHash('sha256')
      .update(arm.ids ?? 'the same ids')
      .digest('hex');
    const entry: RunEntry = { kind: 'run', part: number, block, slot, arm: name, sent_ns: String(ns(sent)), answered_ns: String(ns(answered)), tokens, requests: 1, ids_sha256: ids, marks, before: machine, after: { ...machine, celsius: 51 }, reasons: [] }; // prettier-ignore
    journal.push(options.run?.(entry) ?? entry);
    part.draw(idleWatts, gapS);
  };
  begin();
  idle(0);
  for (const { block, slots } of orderOf(plan)) {
    let attempt = 1;
    if (options.brokenOff?.block === block) {
      slots.slice(0, options.brokenOff.runs).forEach((name, slot) => {
        run(block, slot, name, 1);
      });
      journal.push({ kind: 'block', part: number, block, done: false, why: options.brokenOff.why });
      attempt = 2;
    }
    if (options.secondPartAt === block) {
      end();
      begin();
      idle(block - 1);
    }
    slots.forEach((name, slot) => {
      run(block, slot, name, attempt);
    });
    journal.push({ kind: 'block', part: number, block, done: true });
  }
  idle(options.blocks * (options.arms.length - 1));
  journal.push({ kind: 'end', part: number, how: 'complete' });
  end();
  files.set('journal.jsonl', journal.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return files;
}

function planOf({ arms, blocks, tokens, plan = {} }: SyntheticOptions): Plan {
  return planSchema.parse({
    name: 'synthetic',
    prompt: 'It was a truth',
    tokens,
    arms: arms.map(({ name }) => ({ name, request: { head: { mode: name } } })),
    blocks,
    idle_s: 20,
    boundary: 'wall AC, board and its supply',
    ...plan,
  });
}

/** Samples that are the exact mean of the period before them, rounded to the meter's step. */
function writeTrace(files: Files, part: number, { levels, now }: Part, options: SyntheticOptions): void {
  const { periodMs = 100, stepWatts = 0.01, accuracy = 0.005, simulated = false, wallJumpS = 0 } = options;
  const start = 1000;
  const lines = ['t_ns,watts,volts,amps,joules,flags'];
  const count = Math.floor(((now - start) * 1000) / periodMs);
  let level = 0;
  for (let i = 1; i <= count; i++) {
    const [from, to] = [start + ((i - 1) * periodMs) / 1000, start + (i * periodMs) / 1000];
    let joules = 0;
    while (level > 0 && (levels[level]?.fromS ?? 0) > from) level--;
    for (let k = level; k < levels.length && (levels[k]?.fromS ?? 0) < to; k++) {
      const [a, b] = [levels[k]?.fromS ?? 0, levels[k + 1]?.fromS ?? Infinity];
      joules += Math.max(0, Math.min(to, b) - Math.max(from, a)) * (levels[k]?.watts ?? 0);
      if (b <= from) level = k + 1;
    }
    const watts = Math.round(joules / (to - from) / stepWatts) * stepWatts;
    const line = options.sample ? options.sample(to, watts) : `${ns(to)},${Number(watts.toFixed(6))},,,,`;
    if (line !== undefined) lines.push(line);
  }
  const folder = `parts/${String(part).padStart(3, '0')}/trace`;
  const clocks = (s: number, jumpS = 0) => ({ monotonic_ns: String(ns(s)), boottime_ns: String(ns(s)), wall: new Date(Date.UTC(2026, 2, part, 10) + (s + jumpS) * 1000).toISOString() }); // prettier-ignore
  const header = {
    format: 'spiked-trace',
    version: 1,
    meter: { kind: 'pzem', profile: 'pzem-004t', address: 'pzem:/dev/serial/by-id/usb-1', maker: 'Peacefair', model: 'PZEM-004T', serial: null, firmware: null, simulated },
    traits: { resolution_watts: stepWatts, accuracy, update_period_ns: periodMs * 1e6, rule: 'backward-rectangle', max_watts: 23_000, current: 'alternating' },
    anchor: clocks(start),
    end: clocks(now, wallJumpS),
  }; // prettier-ignore
  files.set(`${folder}/trace.json`, `${JSON.stringify(header, null, 2)}\n`);
  files.set(`${folder}/samples.csv`, `${lines.join('\n')}\n`);
  files.set(`${folder}/frames.csv`, 't_ns,direction,hex,fault\n');
}

export async function writeFiles(dir: string, files: Files): Promise<string> {
  for (const [path, content] of files) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  return dir;
}

const machine = { celsius: 50, governors: ['performance'], clocks_mhz: [2400], throttled: false, other_load: 0.01 } as const; // prettier-ignore

const environment = {
  version: '0.1.0',
  commit: '0123456789ab',
  node: 'v20.20.0',
  machine: { board: 'Radxa ROCK 5T', cpu: 'RK3588', cores: 8, memory_bytes: 17_179_869_184, os: 'Debian 12', kernel: '6.1.0' },
  daemons: [
    {
      arms: ['f32', 'k32'], own: true, version: '0.1.0', commit: '0123456789ab', addon_sha256: 'a'.repeat(64), isa: 'neon_dotprod', threads: 4, cpus: '4-7', activations: 'i16', loading: 'mapped',
      model: { name: 'default', path: '/srv/models/default.gguf', file_sha256: 'b'.repeat(64), data_sha256: 'c'.repeat(64), weights: 'int8', parameters: 2_600_000 },
      context_limit: 512, max_context: 512,
    },
  ],
  warnings: [],
}; // prettier-ignore
