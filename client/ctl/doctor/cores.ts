import { cpusInUse, findings, formatCpuList, type MachineReading } from '../../../native/host/index.js';
import { isRunning, ok, warn, type Check, type Subject } from './check.js';

/** The CPUs that matter: the daemon's, else those that one would take. */
export function cpusOf({ daemon }: Subject, own: string): number[] {
  return cpusInUse(isRunning(daemon) ? daemon.info.cpus : own);
}

/** Governor, limits of the clock, heat. */
export function checkCores({ cores, temperatures, cooling }: MachineReading): Check[] {
  const found = findings({ cores, temperatures, cooling });
  const about = (kinds: readonly string[]): Check[] =>
    found
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ kind, text, fix }) => warn(kind === 'throttled' ? 'heat' : 'governor', text, fix));
  const clock = about(['governor', 'clock_limit', 'clock_low']);
  const heat = about(['throttled']);
  return [
    ...(clock.length > 0 ? clock : [ok('governor', governorText(cores))]),
    ...(heat.length > 0 ? heat : [ok('heat', heatText(temperatures))]),
  ];
}

function governorText(cores: MachineReading['cores']): string {
  const governors = [...new Set(cores.flatMap(({ governor }) => governor ?? []))];
  const cpus = `CPUs ${formatCpuList(cores.map(({ cpu }) => cpu))}`;
  return governors.length === 0
    ? `${cpus}: the kernel tells no governor`
    : `${cpus}: ${governors.join(', ')}, no limit below what they can`;
}

function heatText(temperatures: MachineReading['temperatures']): string {
  const [hottest] = temperatures.toSorted((a, b) => b.celsius - a.celsius);
  return hottest === undefined
    ? 'the kernel tells no temperature'
    : `${hottest.celsius.toFixed(1)} °C (${hottest.zone}), not throttled`;
}
