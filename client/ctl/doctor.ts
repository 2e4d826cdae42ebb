import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { addon, readMachine } from '../../native/host/index.js';
import { SpikedError } from '../index.js';
import { withBar } from './bench/bar.js';
import { checkCgroup, readCgroup } from './doctor/cgroup.js';
import { fail, isRunning, type Check, type Subject } from './doctor/check.js';
import { checkCores, cpusOf } from './doctor/cores.js';
import { checkBuild, checkIsa, checkKernels, supportedIsas } from './doctor/engine.js';
import { checkMemory, checkModel, modelBytes } from './doctor/models.js';
import { checkSerial, listPorts } from './doctor/serial.js';
import { checkService } from './doctor/service.js';
import { checkSocket } from './doctor/socket.js';
import { findSubject } from './doctor/subject.js';
import { repeated } from './options.js';
import { printJson, printLine, table } from './output.js';

interface DoctorOptions {
  socket?: string;
  model?: string[];
  json?: true;
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check build, kernels, models, socket, cores, memory, ports (exit 3 when something fails)')
    .option('--socket <path>', 'socket of the daemon')
    .option('--model <path>', 'a model file or folder to check, too; may be given several times', repeated)
    .option('--json', 'one JSON object')
    .action(doctor);
}

async function doctor(options: DoctorOptions): Promise<void> {
  const subject = await findSubject(options);
  try {
    const steps = stepsFor(subject);
    const checks = await withBar(steps.length, async (bar) => {
      const found: Check[] = [];
      for (const { name, run } of steps) {
        bar.step(name);
        found.push(...(await guarded(name, run)));
      }
      return found;
    });
    await report(checks, options.json === true);
  } finally {
    if (isRunning(subject.daemon)) await subject.daemon.client.close();
  }
}

interface Step {
  name: string;
  run: () => Promise<Check | Check[]> | Check[];
}

function stepsFor(subject: Subject): Step[] {
  const { daemon, models } = subject;
  const pid = isRunning(daemon) ? daemon.info.pid : undefined;
  const engine = loads() ? ownEngine() : undefined;
  return [
    { name: 'build', run: checkBuild },
    ...(engine === undefined
      ? []
      : [
          { name: 'instructions', run: checkIsa },
          ...supportedIsas().map((isa) => ({ name: 'kernels', run: () => checkKernels(isa) })),
          ...models.map((path) => ({ name: 'model', run: () => checkModel(path) })),
        ]),
    { name: 'socket', run: () => checkSocket(subject) },
    { name: 'service', run: checkService },
    {
      name: 'cores',
      run: async () => checkCores(await readMachine(cpusOf(subject, engine?.cpus ?? 'none'))),
    },
    {
      name: 'memory',
      run: async () => checkMemory(await modelBytes(models), await readFile('/proc/meminfo', 'utf8')),
    },
    {
      name: 'cgroup',
      run: async () => {
        const threads = isRunning(daemon) ? daemon.info.threads : (engine?.threads ?? 1);
        return checkCgroup(await readCgroup(pid ?? process.pid), await modelBytes(models), threads);
      },
    },
    { name: 'serial', run: async () => checkSerial(await listPorts(), pid) },
  ];
}

function loads(): boolean {
  try {
    addon();
    return true;
  } catch {
    return false;
  }
}

function ownEngine(): { cpus: string; threads: number } {
  const engine = addon().openEngine({});
  const { cpus, threads } = engine;
  engine.close();
  return { cpus, threads };
}

/** What a check throws is its finding. */
async function guarded(name: string, run: Step['run']): Promise<Check[]> {
  try {
    return [await run()].flat();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return [
      fail(name, text, name === 'build' ? 'npm run build, or install the package again' : 'see the message'),
    ];
  }
}

async function report(checks: readonly Check[], json: boolean): Promise<void> {
  const failed = checks.filter(({ status }) => status === 'fail');
  const warned = checks.filter(({ status }) => status === 'warn');
  if (json) await printJson({ failed: failed.length, warned: warned.length, checks });
  else
    await printLine(
      table(
        checks.map(({ name, status, text, fix }) => [
          status,
          name,
          fix === undefined ? text : `${text}; fix: ${fix}`,
        ]),
      ),
    );
  if (failed.length === 0) return;
  const names = [...new Set(failed.map(({ name }) => name))].join(', ');
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `doctor: expected nothing wrong, found ${failed.length}: ${names}`,
  );
}
