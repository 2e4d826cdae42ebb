import { markdownTable } from './markdown-table.js';
import type { PartResult, Result } from './result.js';
import { sentence } from './words.js';

/** Machine, engine and models, a table for all parts that have the same. */
export function environmentSection({ parts, runs }: Result): string[] {
  const tables = new Map<string, string[]>();
  for (const part of parts) {
    const text = markdownTable(['', ''], rowsOf(part), 'words');
    tables.set(text, [...(tables.get(text) ?? []), `part ${part.part}, begun ${part.at}`]);
  }
  const shown = [...tables].flatMap(([text, names]) => [sentence(names.join('; ')), text]);
  const governors = [...new Set(runs.flatMap(({ before, after }) => [...before.governors, ...after.governors]))]; // prettier-ignore
  const throttled = runs.filter(({ before, after }) => before.throttled || after.throttled).length;
  const state = `Governors seen: ${governors.join(', ') || 'unknown'}. Runs with throttling reported: ${throttled} of ${runs.length}.`;
  return ['## Environment', ...shown, state];
}

function rowsOf({ environment }: PartResult): string[][] {
  const { machine, daemons, warnings } = environment;
  const gib = (machine.memory_bytes / 2 ** 30).toFixed(1);
  return [
    ['machine', [machine.board, machine.cpu, `${machine.cores} cores`, `${gib} GiB`].filter(Boolean).join(', ')],
    ['system', `${machine.os}, Linux ${machine.kernel}, Node ${environment.node}`],
    ['spiked', `${environment.version}, commit ${environment.commit}`],
    ...daemons.flatMap((daemon) => [
      [
        `engine of ${daemon.arms.join(', ')}`,
        `${daemon.version}, commit ${daemon.commit}, ${daemon.isa}, ${daemon.threads} threads, ${pinning(daemon.cpus)}, activations ${daemon.activations}${daemon.own ? '' : ', a daemon that was already running'}`,
      ],
      [
        `model of ${daemon.arms.join(', ')}`,
        `${daemon.model.name}, ${daemon.model.weights}, ${daemon.model.parameters} parameters, data SHA-256 \`${daemon.model.data_sha256}\``,
      ],
    ]),
    ...warnings.map((warning) => ['warning', warning]),
  ]; // prettier-ignore
}

function pinning(cpus: string): string {
  return cpus === '' || cpus === 'none' ? 'not pinned' : `on CPUs ${cpus}`;
}
