import { loadavg } from 'node:os';
import { fullScale, planOf, quickScale, variant, type Scale } from './plan.js';
import { describeMachine, type Machine } from './machine.js';
import { runJob } from './process.js';
import { readPrompts, type Prompts } from './prompt.js';
import type { Repetition } from './results.js';
import type { Setting, TableName } from './settings.js';
import { interleave } from '../stats.js';
import { tablesOf, type Tables } from './tables.js';
import type { VariantFile, Variants } from './variants.js';

export interface PaperRequest {
  tables: readonly TableName[];
  quick: boolean;
  maxThreads: number;
  text: { path: string; bytes: Uint8Array } | undefined;
  golden: string | undefined;
}

export interface PaperRun {
  request: PaperRequest;
  scale: Scale;
  machine: Machine & { load_average_after: number; isa: string };
  prompts: Prompts;
  files: VariantFile[];
  settings: { setting: Setting; repetitions: Repetition[] }[];
  tables: Tables;
}

export interface Watcher {
  /** What is under way, after `done` of `total` steps. */
  step: (what: string, done: number, total: number) => void;
  signal: AbortSignal;
}

/**
 * Measures what the tables need, a process at a time: first what is timed, its settings interleaved, then what is the same every time.
 *
 * @throws SpikedError what a measuring process or the exporter reported; ERR_CANCELLED
 */
export async function runPaper(
  variants: Variants,
  request: PaperRequest,
  watcher: Watcher,
): Promise<PaperRun> {
  const machine = await describeMachine();
  const { tables: names, quick, maxThreads, golden } = request;
  const scale = quick ? quickScale : fullScale;
  watcher.step('export int8', 0, 1);
  const { path, info } = await variants.get(variant('int8'));
  const prompts = await readPrompts(path, info, request.text);
  const plan = planOf({ tables: names, scale, maxThreads, maxContext: info.maxContext, prompts, golden });
  const rounds = [
    ...interleave(
      plan.settings.filter(({ timed }) => timed),
      scale.repetitions,
    ),
    ...interleave(
      plan.settings.filter(({ timed }) => !timed),
      1,
    ),
  ];
  const needed = [...new Map(plan.settings.map((setting) => [setting.variant.id, setting.variant])).values()];
  const total = needed.length + rounds.length;
  let done = 0;
  for (const one of needed) {
    watcher.step(`export ${one.id}`, done++, total);
    watcher.signal.throwIfAborted();
    await variants.get(one);
  }
  const repetitions = new Map<string, Repetition[]>(plan.settings.map(({ id }) => [id, []]));
  for (const { setting } of rounds) {
    watcher.step(setting.id, done++, total);
    const job = {
      model: (await variants.get(setting.variant)).path,
      threads: setting.threads,
      activations: setting.activations,
      work: setting.work,
      bandwidthBytes: setting.timed ? scale.bandwidthBytes : 0,
    };
    repetitions.get(setting.id)?.push(await runJob(job, watcher.signal));
  }
  const files = variants.all;
  const isa = [...repetitions.values()].flat()[0]?.isa ?? '';
  return {
    request,
    scale,
    machine: { ...machine, isa, load_average_after: loadavg()[0] ?? 0 },
    prompts,
    files,
    settings: plan.settings.map((setting) => ({ setting, repetitions: repetitions.get(setting.id) ?? [] })),
    tables: tablesOf({ plan, repetitions, files, maxThreads, prefillLengths: scale.prefillLengths }),
  };
}
