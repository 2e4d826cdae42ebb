import type { Plan } from '../../../power/experiment/plan.js';
import type { Preview } from '../../../power/experiment/preview.js';
import { table } from '../output.js';
import { duration, figure } from './amounts.js';

/** What `--dry-run` shows to people. */
export function previewText(plan: Plan, preview: Preview): string {
  const [baseline = '', ...candidates] = plan.arms.map(({ name }) => name);
  const speeds = Object.entries(preview.pace).map(
    ([arm, { tokensPerSecond }]) => `${arm} ${figure(tokensPerSecond)}/s`,
  );
  const lasts = Object.values(preview.runSeconds).map((seconds) => seconds.toFixed(1));
  const rows = [
    ['plan', `${plan.name}: ${baseline} against ${candidates.join(', ')}`],
    ['meter', `${plan.meter.address ?? ''}, step ${preview.detectable.stepWatts} W`],
    [
      'tokens',
      `${preview.tokens} a run (${speeds.join(', ')}), which last ${[...new Set(lasts)].join(', ')} s`,
    ],
    [
      'window',
      `${plan.window}, ${preview.trimSeconds.toFixed(1)} s cut off each end, needs ${preview.neededSeconds.toFixed(1)} s`,
    ],
    ['blocks', `${plan.blocks} a candidate, ${preview.blocks.length * 4} runs`],
    ['duration', lasting(preview)],
    ['detectable', detectable(preview)],
  ];
  const order = preview.blocks.map(({ block, candidate, slots }) => [
    `block ${block}`,
    `${slots.map((arm) => (arm === candidate ? 'B' : 'A')).join('')}  B = ${candidate}`,
  ]);
  return table([...rows, ...order]);
}

/** Before the first block: what the pilot says of the whole, then what the warm-up has settled. */
export function ahead(preview: Preview, settled: boolean): string {
  const [count, runs] = [`${preview.tokens} tokens a run`, `${preview.blocks.length * 4} runs`];
  const begin = settled
    ? `settled: ${count}`
    : `ahead: ${runs} of about ${preview.tokens} tokens, ${lasting(preview)}`;
  return `${begin}; detectable: ${detectable(preview)}`;
}

function lasting({ seconds: { least, most } }: Preview): string {
  const [short, long] = [duration(least), duration(most)];
  return short === long ? short : `${short} to ${long}, by the warm-up`;
}

function detectable({ detectable: { watts, measured, at } }: Preview): string {
  const known = at.filter((row) => row.difference !== null);
  const condition = `80 % power, alpha 0.05, at ${watts.toFixed(1)} W${measured ? '' : ' (assumed)'}`;
  if (known.length === 0) return 'nothing: one block gives no interval; plan two or more';
  const rows = known.map(
    ({ sd, difference }) =>
      `${(100 * (difference ?? 0)).toPrecision(2)} % when blocks differ by ${100 * sd} %`,
  );
  return `${rows.join(', ')} (${condition})`;
}

/** What `--dry-run --json` prints. */
export function previewJson(plan: Plan, preview: Preview): object {
  return {
    name: plan.name,
    meter: plan.meter.address ?? null,
    tokens: preview.tokens,
    arms: plan.arms.map(({ name }) => ({
      name,
      tokens_per_second: preview.pace[name]?.tokensPerSecond ?? null,
      run_seconds: preview.runSeconds[name] ?? null,
    })),
    order: preview.blocks,
    seconds_least: preview.seconds.least,
    seconds_most: preview.seconds.most,
    window: plan.window,
    trim_s: preview.trimSeconds,
    needed_s: preview.neededSeconds,
    too_short: preview.tooShort,
    detectable: {
      watts: preview.detectable.watts,
      watts_measured: preview.detectable.measured,
      step_watts: preview.detectable.stepWatts,
      at: preview.detectable.at.map(({ sd, difference }) => ({
        block_sd: sd,
        minimum_detectable: difference,
      })),
    },
  };
}
