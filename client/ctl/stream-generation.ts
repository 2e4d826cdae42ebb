import type { GenerateResult, Generation } from '../index.js';
import { print, printJson, remark } from './output.js';

/**
 * Prints a generation as it comes: its text, and a remark on it at the end; or a JSON object a line.
 *
 * @returns its summary
 */
export async function streamGeneration(generation: Generation, json: boolean): Promise<GenerateResult> {
  let text = '';
  for await (const event of generation) {
    text += event.text;
    if (json) await printJson({ event: 'token', ...event });
    else await print(event.text);
  }
  const result = await generation.result;
  if (json) await printJson({ event: 'summary', ...result });
  else {
    // Text held back for a stop string or an unfinished character comes with the summary only.
    await print(result.text.startsWith(text) ? result.text.slice(text.length) : '');
    if (!result.text.endsWith('\n')) await print('\n');
    remark(summarise(result));
  }
  return result;
}

/** Decode speed. The first token comes out of the prefill, so the decode time covers the others; 0 when there are none. */
export function tokensPerSecond(result: GenerateResult): number {
  const seconds = result.timings.decode_ns / 1e9;
  return seconds > 0 && result.generated_tokens > 1 ? (result.generated_tokens - 1) / seconds : 0;
}

function summariseHead({ head }: GenerateResult): string[] {
  const per = (n: number): string => (head.steps > 0 ? (n / head.steps).toFixed(1) : '0');
  if (head.mode === 'certified')
    return [
      `head: ${head.proved} of ${head.steps} proved, ${per(head.rows)} rows a step, ${head.fell_back} fell back`,
    ];
  if (head.mode === 'gate') return [`head: ${head.triggered} of ${head.steps} steps verified`];
  if (head.mode === 'topk') return [`head: unproved, ${per(head.rows)} rows a step`];
  return head.mode === 'scan' ? ['head: unverified scan'] : [];
}

function summariseDrafts({ drafts, generated_tokens }: GenerateResult): string[] {
  if (!drafts) return [];
  if (drafts.off === 'temperature') return ['drafts: off, they need --temperature 0'];
  if (drafts.off !== null) return [`drafts: off because of ${drafts.off}`];
  const perPass = drafts.passes > 0 ? ((generated_tokens - 1) / drafts.passes).toFixed(2) : '0';
  return [`drafts: ${drafts.accepted} of ${drafts.proposed} right, ${perPass} tokens a pass`];
}

/** Nothing of a model that has no columns to choose from. */
function summariseActivity({ activity: { mixer, ffn } }: GenerateResult): string[] {
  const share = (x: number) => `${(100 * x).toFixed(1)} %`;
  return mixer === 0 && ffn === 0 ? [] : [`active: mixer ${share(mixer)}, ffn ${share(ffn)}`];
}

function summarise(result: GenerateResult): string {
  const stop = result.stop === undefined ? result.stop_reason : `stop ${JSON.stringify(result.stop)}`;
  return [
    `${result.generated_tokens} tokens at ${tokensPerSecond(result).toFixed(1)} tokens/s`,
    `prompt of ${result.prompt_tokens} in ${(result.timings.prefill_ns / 1e6).toFixed(1)} ms`,
    ...summariseActivity(result),
    ...summariseHead(result),
    ...summariseDrafts(result),
    `ended by ${stop}, seed ${result.seed}`,
  ].join('; ');
}
