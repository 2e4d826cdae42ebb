import { scaleLinear } from 'd3-scale';
import { curveStepAfter, curveStepBefore, line } from 'd3-shape';
import type { CalibrationRun } from '../../../../power/calibrate/calibrate.js';
import type { Meter, Sample } from '../../../../power/meters/meter.js';
import { placeAxis, valueAxis, valueScale, type Box } from '../../bench/charts/axes.js';
import { colour, element, text } from '../../bench/charts/svg.js';
import { page } from './page.js';

const box: Box = { left: 80, top: 96, width: 1040, height: 220 };

/** The samples of a calibration, and the wave that the machine made, shifted by the latency that was found. */
export function calibrationPicture(
  { edges, samples, alignment }: CalibrationRun,
  { identity, traits }: Meter,
): string {
  const origin = edges[0]?.tNs ?? 0n;
  const at = (ns: bigint) => Number(ns - origin) / 1e9;
  const end = at(edges.at(-1)?.tNs ?? 0n);
  const x = scaleLinear()
    .domain([-0.02 * end, 1.05 * end])
    .range([box.left, box.left + box.width]);
  const shown = samples.filter(({ tNs }) => at(tNs) > -0.02 * end && at(tNs) < 1.05 * end);
  const y = valueScale(Math.max(...shown.map(({ watts }) => watts ?? 0), 0), box);
  const { latency_s: latency, u_s: u, idle_watts: idle, step_watts: step, refused } = alignment;
  const wave = line<{ t: number; watts: number }>(
    ({ t }) => x(t + (latency ?? 0)),
    ({ watts }) => y(watts),
  )
    .curve(curveStepAfter)
    .digits(1)([
    { t: x.domain()[0] ?? 0, watts: idle },
    ...edges.map(({ tNs, busy }) => ({ t: at(tNs), watts: idle + (busy ? step : 0) })),
  ]);
  const power = line<Sample>(
    ({ tNs }) => x(at(tNs)),
    ({ watts }) => y(watts ?? 0),
  )
    .defined(({ watts }) => watts !== null)
    .digits(1);
  const drawn = (traits.rule === 'trapezoid' ? power : power.curve(curveStepBefore))(shown);
  const said = refused === null ? `latency ${(latency ?? 0).toFixed(3)} ± ${(u ?? 0).toFixed(3)} s` : 'no latency: the step is not seen'; // prettier-ignore
  return page(
    [1150, 380],
    `Calibration: ${identity.model ?? identity.kind}, ${said}`,
    'black: what the meter said; coloured: work and rest of the machine, later by the latency',
    identity.simulated,
    valueAxis(y, box, 'W'),
    placeAxis(
      x.ticks(10).map((s) => ({ at: x(s), label: String(s) })),
      box,
      's',
    ),
    element('path', { class: 'wave', d: wave ?? '', stroke: colour(1), 'stroke-width': 2, fill: 'none' }),
    element('path', { class: 'power', d: drawn ?? '', stroke: '#222', 'stroke-width': 1, fill: 'none' }),
    text(box.left, 84, identity.address, { 'font-size': 12, fill: '#555' }),
  );
}
