/** What the system says of a process. */
import { readdirSync, readFileSync } from 'node:fs';

export interface VitalSigns {
  rssBytes: number;
  descriptors: number;
  threads: number;
}

export function vitalSigns(pid: number): VitalSigns {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return {
    rssBytes: field('VmRSS') * 1024,
    descriptors: readdirSync(`/proc/${String(pid)}/fd`).length,
    threads: field('Threads'),
  };
}
