import { formatCpuList, parseCpuList } from './cpu-list.js';
import type { CoreReading, MachineReading } from './reading.js';

/** Something that keeps the cores below their speed. */
export interface Finding {
  kind: 'governor' | 'clock_limit' | 'clock_low' | 'throttled';
  text: string;
  fix: string;
}

/** Their `powersave` is a governor that follows the load. */
const selfGoverning = ['intel_pstate', 'amd-pstate-epp', 'amd_pstate_epp'];

const mhz = (hz: number): string => `${Math.round(hz / 1e6)} MHz`;

/**
 * What holds the cores back, as far as the kernel tells.
 *
 * @param busy    whether they compute at the moment, all the time: only then does a low clock say anything
 * @param before  an earlier reading of the same cores, to see counts that have risen since
 */
export function findings(now: MachineReading, busy = false, before?: MachineReading): Finding[] {
  return [
    ...about(now.cores, 'governor', holdsDown, (core) => ({
      text: `governor ${core.governor ?? ''} holds the clock down${core.maxHz === undefined ? '' : ` (they can ${mhz(core.maxHz)})`}`,
      fix: governorFix,
    })),
    ...about(now.cores, 'clock_limit', isLimited, ({ limitHz = 0, maxHz = 0 }) => ({
      text: `the clock may reach ${mhz(limitHz)} of ${mhz(maxHz)}`,
      fix: 'raise scaling_max_freq (cpupower frequency-set --max), or cool the board if it lowers the clock itself',
    })),
    ...(busy
      ? about(now.cores, 'clock_low', isLow, ({ governor = 'unknown', clockHz = 0, maxHz = 0 }) => ({
          text: `governor ${governor} leaves the clock at ${mhz(clockHz)} of ${mhz(maxHz)} under load`,
          fix: governorFix,
        }))
      : []),
    ...throttling(now, before),
  ];
}

const governorFix =
  'cpupower frequency-set --governor performance (or write "performance" to each scaling_governor)';

/** One finding for all CPUs of which the same is to be said. */
function about(
  cores: readonly CoreReading[],
  kind: Finding['kind'],
  holds: (core: CoreReading) => boolean,
  say: (core: CoreReading) => { text: string; fix: string },
): Finding[] {
  const same = new Map<string, { cpus: number[]; fix: string }>();
  for (const core of cores.filter(holds)) {
    const { text, fix } = say(core);
    const entry = same.get(text) ?? { cpus: [], fix };
    entry.cpus.push(core.cpu);
    same.set(text, entry);
  }
  return [...same].map(([text, { cpus, fix }]) => ({ kind, text: `${named(cpus)}: ${text}`, fix }));
}

function named(cpus: readonly number[]): string {
  return `${cpus.length === 1 ? 'CPU' : 'CPUs'} ${formatCpuList(cpus)}`;
}

function holdsDown({ governor, driver }: CoreReading): boolean {
  return governor === 'powersave' && !selfGoverning.includes(driver ?? '');
}

/** More than 1 %: some drivers round. */
function isLimited({ limitHz, maxHz }: CoreReading): boolean {
  return limitHz !== undefined && maxHz !== undefined && limitHz < 0.99 * maxHz;
}

/** `powersave` is a finding of its own, busy or not. */
function isLow(core: CoreReading): boolean {
  const { clockHz, minHz, maxHz } = core;
  if (clockHz === undefined || minHz === undefined || maxHz === undefined) return false;
  return minHz < maxHz && clockHz <= minHz && !holdsDown(core);
}

function throttling({ cores, cooling }: MachineReading, before?: MachineReading): Finding[] {
  const fix = 'cool the board: a heat sink, a fan, more air';
  const devices = cooling.filter(({ device, state }) => state > 0 && lowersClockOf(device, cores));
  const found: Finding[] = devices.map(({ device, state }) => ({
    kind: 'throttled',
    text: `${device}: too hot, the clock is lowered (step ${state})`,
    fix,
  }));
  const hot = cores.filter(({ cpu, throttleEvents = 0 }) => {
    const earlier = before?.cores.find((core) => core.cpu === cpu)?.throttleEvents;
    return earlier !== undefined && throttleEvents > earlier;
  });
  if (hot.length > 0)
    found.push({ kind: 'throttled', text: `${named(hot.map(({ cpu }) => cpu))}: too hot, throttled`, fix });
  return found;
}

/** `cpufreq-cpu4` names the first CPU of those that share a clock; older kernels only count their devices. */
function lowersClockOf(device: string, cores: readonly CoreReading[]): boolean {
  const named = /cpufreq-cpu(\d+)$/.exec(device)?.[1];
  if (named === undefined) return true;
  return cores.some(
    ({ cpu, shares }) =>
      cpu === Number(named) || parseCpuList((shares ?? '').replaceAll(' ', ',')).includes(Number(named)),
  );
}
