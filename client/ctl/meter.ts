import { Command } from 'commander';
import { simulateCommand } from './meter/simulate.js';

export function meterCommand(): Command {
  const meter = new Command('meter').description('wall meters: simulate one');
  simulateCommand(meter);
  return meter;
}
