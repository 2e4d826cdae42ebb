import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  constantPower,
  faultKinds,
  kindNamed,
  kinds,
  loadPower,
  parseFault,
  parseSteps,
  simulate,
  steppedPower,
  type Fault,
  type Measuring,
  type PowerSource,
  type Simulation,
} from '../../../power/simulator/index.js';
import { exitCode, usage } from '../exit.js';
import { decimal, integer } from '../options.js';
import { printJson, printLine, remark } from '../output.js';
import { openPty } from './pty.js';

interface SimulateOptions {
  kind: string;
  trace?: string;
  repeat?: true;
  watts?: number;
  idleWatts: number;
  wattsPerCore: number;
  periodMs?: number;
  latencyMs?: number;
  stepWatts?: number;
  maxWatts?: number;
  accuracy?: number;
  noiseWatts?: number;
  volts?: number;
  powerFactor?: number;
  baud?: number;
  fault?: Fault[];
  seed: number;
  link?: string;
  json?: true;
}

/** What the parent of a simulator gets as its first message, and again when the line is back. */
export interface Ready {
  readonly path: string;
  /** CLOCK_MONOTONIC at second 0 of the trace, in decimal. */
  readonly start_ns: string;
}

export function simulateCommand(meter: Command): void {
  meter
    .command('simulate')
    .description('be a meter on a pseudo-terminal: for demonstrations and tests without hardware')
    .addOption(
      new Option('--kind <name>', 'which meter').choices(kinds.map(({ name }) => name)).default('pzem'),
    )
    .option(
      '--trace <file>',
      'power in steps: lines of t_s,watts, seconds from the start (default: follow this machine)',
    )
    .option('--repeat', 'begin the trace again at the time of its last line')
    .option('--watts <n>', 'constant power', decimal(0, 1e6))
    .option('--idle-watts <n>', 'following this machine: at rest', decimal(0, 1e5), 3)
    .option('--watts-per-core <n>', 'following this machine: on top for each busy core', decimal(0, 1e4), 2)
    .option('--period-ms <n>', 'time between two new values', decimal(5, 60_000))
    .option('--latency-ms <n>', 'by which a value is seen after its period', decimal(0, 60_000))
    .option('--step-watts <n>', 'smallest step of the power', decimal(1e-6, 1000))
    .option('--max-watts <n>', 'greatest power, from which on it saturates', decimal(0.001, 1e6))
    .option(
      '--accuracy <share>',
      'greatest error of this one device as a share, such as 0.005',
      decimal(0, 0.5),
    )
    .option('--noise-watts <n>', 'deviation of white noise', decimal(0, 1e5))
    .option('--volts <n>', 'voltage', decimal(0.1, 1000))
    .option('--power-factor <n>', 'power factor', decimal(0.01, 1))
    .option('--baud <n>', 'speed of its port', integer(1200, 115_200))
    .option('--fault <spec>', 'what goes wrong, several times (below)', faults)
    .option('--seed <n>', 'of noise and faults', integer(0, 2 ** 31), 1)
    .option('--link <path>', 'symbolic link to the port, which stays the same when the port comes back')
    .option('--json', 'one JSON object for each port')
    .addHelpText('after', help)
    .action(run);
}

const help = `
Prints the path of the port, and again when it comes back after a hang-up. Runs until Ctrl-C.

Kinds:
${kinds.map(({ name, says, baud }) => `  ${name.padEnd(10)} ${says}, ${String(baud)} baud`).join('\n')}

A fault is KIND[:name=number,...]. Kinds, with the number that each takes:
${Object.entries(faultKinds)
  .map(([kind, { number, says }]) => `  ${kind.padEnd(10)} ${number.padEnd(7)} ${says}`)
  .join('\n')}
When it acts: after=N messages (values), every=N, count=N times, rate=P each with
probability P, at_s=T from T seconds on, for_s=D for D seconds.
  --fault late:after=3,ms=900 --fault flip:rate=0.05 --fault silent:at_s=10,for_s=5

Example:
  spikectl meter simulate --kind pzem --watts 10.3 --link meter &
  spikectl energy doctor pzem:meter`;

/** Parser for commander. */
function faults(text: string, earlier: Fault[] | undefined): Fault[] {
  try {
    return [...(earlier ?? []), parseFault(text)];
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

async function run(options: SimulateOptions): Promise<void> {
  const simulation = await simulationOf(options);
  const kind = simulation.kind.name;
  const opened: string[] = [];
  const tell = (path: string, startNs: bigint): void => {
    const ready: Ready = { path, start_ns: startNs.toString() };
    process.send?.(ready);
    const at = options.link ?? path;
    if (options.json) void printJson({ ...ready, kind, address: `${kind}:${at}`, simulated: true });
    else {
      void printLine(path);
      remark(`a simulated ${kind}: read it as ${kind}:${at}, end it with Ctrl-C`);
    }
  };
  const simulator = simulate(simulation, () => {
    const pty = openPty(options.link);
    // The first is told below, when the start is known.
    if (opened.push(pty.path) > 1) tell(pty.path, simulator.startNs);
    return pty;
  });
  tell(opened[0] ?? '', simulator.startNs);
  process.exitCode = await untilTold();
  simulator.stop();
}

/** The status to exit with: a parent that let us go is no interruption. */
function untilTold(): Promise<number> {
  return new Promise((resolve) => {
    const interrupted = (): void => resolve(exitCode.interrupted);
    process.once('SIGINT', interrupted);
    process.once('SIGTERM', interrupted);
    process.once('disconnect', () => resolve(exitCode.ok));
  });
}

async function simulationOf(options: SimulateOptions): Promise<Simulation> {
  const measuring: Partial<Measuring> = {
    ...(options.periodMs !== undefined && { periodMs: options.periodMs }),
    ...(options.latencyMs !== undefined && { latencyMs: options.latencyMs }),
    ...(options.stepWatts !== undefined && { wattsStep: options.stepWatts }),
    ...(options.maxWatts !== undefined && { maxWatts: options.maxWatts }),
    ...(options.accuracy !== undefined && { accuracy: options.accuracy }),
    ...(options.noiseWatts !== undefined && { noiseWatts: options.noiseWatts }),
    ...(options.volts !== undefined && { volts: options.volts }),
    ...(options.powerFactor !== undefined && { powerFactor: options.powerFactor }),
  };
  const kind = kindNamed(options.kind);
  const faults = options.fault ?? [];
  const impossible = faults.find((fault) => kind.cannot.includes(fault.kind));
  if (impossible !== undefined)
    throw usage(`--fault ${impossible.kind}: a ${kind.name} has no way to say that; choose another --kind`);
  return {
    kind,
    source: await sourceOf(options),
    measuring,
    ...(options.baud !== undefined && { baud: options.baud }),
    faults,
    seed: options.seed,
  };
}

async function sourceOf(options: SimulateOptions): Promise<PowerSource> {
  if (options.trace !== undefined && options.watts !== undefined)
    throw usage('expected --trace or --watts, found both');
  if (options.repeat && options.trace === undefined) throw usage('--repeat: expected --trace with it');
  if (options.trace !== undefined)
    return steppedPower(
      parseSteps(await readFile(options.trace, 'utf8'), options.trace),
      options.repeat ?? false,
    );
  if (options.watts !== undefined) return constantPower(options.watts);
  return loadPower({ idleWatts: options.idleWatts, wattsPerCore: options.wattsPerCore });
}
