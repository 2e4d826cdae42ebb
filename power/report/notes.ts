import { open } from 'node:fs/promises';
import { planDifference } from '../experiment/read-plan.js';
import type { IdleReading } from './idle.js';
import type { PartReading } from './part.js';
import type { RunResult } from './result.js';
import { sentence } from './words.js';

/** What a reader of the figures should know beside them, a sentence each. */
export async function experimentNotes(
  journal: string,
  parts: readonly PartReading[],
  idles: readonly IdleReading[],
  runs: readonly RunResult[],
): Promise<string[]> {
  return [
    ...parts.flatMap(({ notes }) => notes),
    ...changes(parts),
    ...((await isTorn(journal)) ? ['The last line of journal.jsonl was cut off and is left out.'] : []),
    ...(idles.length === 0 ? ['No idle power was measured: there are no figures net of idle.'] : []),
    ...idles.flatMap(idleFault),
    ...warningsOf(runs),
  ];
}

function idleFault({ result: { part, after_block: after, reasons } }: IdleReading): string[] {
  if (reasons.length === 0) return [];
  const why = reasons.map(({ reason, text }) => `${reason}: ${text}`).join('; ');
  return [
    sentence(
      `part ${part}, idle ${after === 0 ? 'before the first block' : `after block ${after}`} has no figure: ${why}`,
    ),
  ];
}

/** Between parts nothing may change but the time. */
function changes(parts: readonly PartReading[]): string[] {
  return parts.slice(1).flatMap((part, i) => {
    const before = parts[i];
    if (before === undefined) return [];
    const meter = planDifference(described(before), described(part), 'meter');
    const environment = planDifference(before.result.environment, part.result.environment);
    return [
      ...(meter === null ? [] : [`Part ${part.part}: another meter than in part ${part.part - 1}: ${meter}.`]),
      ...(environment === null ? [] : [`Part ${part.part}: the environment is another than in part ${part.part - 1}: ${environment}.`]),
    ];
  }); // prettier-ignore
}

/** The address may change with the port; what answers there may not. */
function described({ trace: { header }, traits }: PartReading): Record<string, unknown> {
  const { address: _, ...meter } = header.meter;
  return { ...meter, ...traits };
}

async function isTorn(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size === 0) return false;
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] !== 0x0a;
  } finally {
    await file.close();
  }
}

/** Warnings of runs, those that differ in figures only told once, with the runs that have one. */
function warningsOf(runs: readonly RunResult[]): string[] {
  const by = new Map<string, { first: string; names: string[]; differ: boolean }>();
  for (const run of runs) {
    const own = new Map(
      [...run.warnings, ...run.decode.figures.warnings, ...run.full.figures.warnings].map((warning) => [shape(warning), warning]), // prettier-ignore
    );
    for (const [key, warning] of own) {
      const found = by.get(key) ?? { first: warning, names: [], differ: false };
      found.differ ||= found.first !== warning;
      found.names.push(`${run.block}-${run.slot}`);
      by.set(key, found);
    }
  }
  return [...by.values()].map(({ first, names, differ }) => {
    const who = names.length === runs.length ? 'Every run' : `${names.length === 1 ? 'Run' : 'Runs'} ${names.join(', ')}`; // prettier-ignore
    return `${who}${differ ? ', for example' : ''}: ${sentence(first)}`;
  });
}

function shape(warning: string): string {
  return warning.replace(/\d+(\.\d+)?/g, '#');
}
