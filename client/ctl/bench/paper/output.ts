import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { chartsOf } from './paper-charts.js';
import { paperValues } from './paper-values.js';
import { markdownTable, sections } from './report.js';
import type { PaperRun } from './run.js';

/** What paper.json holds: every raw repetition, and what the tables make of them. */
export function paperJson(run: PaperRun, source: string) {
  const { request, scale, machine, prompts, files, settings, tables } = run;
  const { build, ...host } = machine;
  return {
    format: 'spiked bench paper 1',
    model: basename(source),
    quick: request.quick,
    machine: host,
    build,
    method: {
      ...scale,
      max_threads: request.maxThreads,
      order: 'interleaved',
      text_tokens: prompts.text.length,
    },
    prompt: { text: prompts.promptSource, ids: prompts.prompt },
    text: prompts.textSource,
    models: files.map(({ variant, path, info, weightBytes }) => ({
      id: variant.id,
      file: basename(path),
      name: info.name,
      weights: info.weights,
      layout_plan: info.layoutPlan,
      data_sha256: info.dataSha256,
      file_size_bytes: info.fileSizeBytes,
      weight_bytes: weightBytes,
      n_parameters: info.nParameters,
    })),
    settings: settings.map(({ setting, repetitions }) => ({
      id: setting.id,
      model: setting.variant.id,
      threads: setting.threads,
      activations: setting.activations,
      work: setting.work.kind,
      repetitions,
    })),
    tables,
    paper: paperValues,
  };
}

/** Writes paper.json, report.md and the charts; each appears when it is complete. Returns their names. */
export async function writeReport(folder: string, run: PaperRun, source: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const subtitle = `${run.files[0]?.info.name ?? ''}; ${run.machine.cpu}, ${run.machine.isa}; ${rangeText(run)}`;
  const files = new Map([
    ['paper.json', `${JSON.stringify(paperJson(run, source), null, 1)}\n`],
    ['report.md', `${reportText(run, source)}\n`],
    ...chartsOf(run.tables, subtitle),
  ]);
  for (const [name, content] of files) {
    const partial = join(folder, `${name}.${process.pid}.tmp`);
    try {
      await writeFile(partial, content);
      await rename(partial, join(folder, name));
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }
  return [...files.keys()];
}

function rangeText({ scale: { repetitions } }: PaperRun): string {
  return repetitions === 1 ? 'one process a setting' : `median and range of ${repetitions} processes`;
}

function reportText(run: PaperRun, source: string): string {
  const { machine, scale, prompts, files, request } = run;
  const quick = request.quick
    ? ' **Quick run: one process a setting, fewer tokens, prefill up to 128, a shorter text. Take it as a test of the command, not as a measurement.**'
    : '';
  const facts = [
    ['machine', `${machine.cpu}, ${machine.cores} cores, ${(machine.memory_bytes / 2 ** 30).toFixed(1)} GiB, governor ${machine.governor || 'unknown'}`],
    ['system', `Linux ${machine.kernel}, Node ${machine.node}, load average ${machine.load_average_before.toFixed(2)} before, ${machine.load_average_after.toFixed(2)} after`],
    ['engine', `${machine.build.version}, commit ${machine.build.commit}, ${machine.build.compiler}, ${machine.isa}`],
    ['prompt', `${prompts.promptSource} (${prompts.prompt.length} tokens), ${scale.tokens} tokens generated greedily`],
    ['text', `${prompts.textSource}, ${prompts.text.length} tokens`],
  ]; // prettier-ignore
  const models = files.map(({ variant, info, weightBytes }) => [
    variant.id,
    info.name,
    (weightBytes / 2 ** 20).toFixed(1),
    info.dataSha256,
  ]);
  return [
    `# The paper's tables, with ${files[0]?.info.name ?? basename(source)}`,
    `Measured by \`spikectl bench paper\`. **Columns that begin with "paper" are another machine's and another model's** (${paperValues.machine}): compare their shape, not their size.${quick}`,
    markdownTable(['', ''], facts),
    `Each timed setting: ${scale.repetitions} fresh process${scale.repetitions === 1 ? '' : 'es'}, the settings interleaved (A B C A B C); median, and the range in brackets. Decode runs from the first generated token to the last. Read bandwidth is a plain read by the same threads right after, in the same process; share = tokens/s × least bytes a token reads ÷ that; a model that stays in the processor's cache can exceed it. Peak RSS is the kernel's high-water mark, and beside it the largest of samples every 50 ms, both of the whole process, Node included. Blocks take f32 activations unless a row says otherwise.`,
    markdownTable(['model', 'name', 'weights, MiB', 'data SHA-256'], models),
    ...sections(run.tables),
  ].join('\n\n');
}
