import { basename } from 'node:path';
import { Command } from 'commander';
import { runExperiment } from '../../../power/experiment/experiment.js';
import { readFolder } from '../../../power/experiment/folder.js';
import { MeterFeed } from '../../../power/experiment/meter-feed.js';
import { pilot } from '../../../power/experiment/pilot.js';
import type { Plan } from '../../../power/experiment/plan.js';
import { previewOf } from '../../../power/experiment/preview.js';
import { readPlan } from '../../../power/experiment/read-plan.js';
import type { Meter } from '../../../power/meters/meter.js';
import { addressWarnings } from '../../../power/meters/open.js';
import { openMeter } from '../meter/open.js';
import { SpikedError } from '../../index.js';
import { usage } from '../exit.js';
import { decimal } from '../options.js';
import { printJson, printLine, remark } from '../output.js';
import { summary } from './analyze.js';
import { completePlan } from './arms.js';
import { DaemonSubject } from './daemon-subject.js';
import { previewJson, previewText } from './preview-text.js';
import { interruptible } from './interrupt.js';
import { experimentView } from './view.js';
import { writeReport } from './write-report.js';

interface RunOptions {
  output?: string;
  meter?: string;
  model?: string;
  socket?: string;
  dryRun?: true;
  resume?: true;
  reconnect: number;
  json?: true;
}

export function energyRunCommand(): Command {
  return new Command('run')
    .description('carry out a paired experiment: a plan, a meter, a folder of raw data and a verdict')
    .argument('<plan>', 'plan, JSON (docs/energy-plan.md)')
    .option('-o, --output <dir>', 'folder for everything that is measured (default: plan name and time)')
    .option('--meter <address>', "in place of the plan's, such as pzem:/dev/serial/by-id/… or simulate:")
    .option('--model <file>', "in place of the plan's")
    .option('--socket <path>', 'measure the daemon that answers here (default: private ones)')
    .option(
      '--dry-run',
      'try the arms for a moment; print order, duration and the smallest difference that would show',
    )
    .option('--resume', 'go on with the experiment in --output, after its last whole block')
    .option('--reconnect <s>', 'seconds that a lost meter may take to come back', decimal(0, 86_400), 300)
    .option('--json', 'one JSON object: the result, or with --dry-run what lies ahead')
    .addHelpText('after', help)
    .action(run);
}

const help = `
Private daemons serve the arms: one for all arms with the same model, threads, cpus and activations, all of them up from
start to end. Ctrl-C ends the experiment: the half block is dropped, whole ones are kept, --resume goes on.
Exit status: 0 with a verdict, "below resolution" included; 1 without enough valid blocks, and when it failed.

  spikectl energy run models/energy-demo.json --meter simulate:`;

async function run(file: string, options: RunOptions): Promise<void> {
  const plan = completePlan(await readPlan(file), file, {
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.meter === undefined ? {} : { meter: options.meter }),
    named: options.socket !== undefined,
  });
  const { address } = plan.meter;
  if (address === undefined) throw usage('expected --meter ADDRESS, or "meter": {"address": …} in the plan');
  const meter = openMeter(address);
  if (address.startsWith('file:') && !/[?&]time=now(&|$)/.test(address))
    throw usage(
      `--meter ${address}: expected a meter of now, found a record with times of its own; add time=now to play it (simulated), or give it to energy analyze --trace`,
    );
  addressWarnings(address).forEach(remark);
  if (options.dryRun === true) return dryRun(plan, meter, options);
  const folder = folderOf(file, options);
  const past = await readFolder(folder, plan, options.resume === true);
  if (past.complete) remark(`${folder}: the experiment is complete, nothing is left to run`);
  else await carryOut(plan, folder, past, meter, options);
  await finish(plan, folder, options.json === true);
}

function folderOf(file: string, { output, resume }: RunOptions): string {
  if (output !== undefined) return output;
  if (resume === true) throw usage('--resume: expected --output DIR, the folder of the experiment');
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  return `${basename(file, '.json')}-${time}`;
}

/** The folder's figures, by the same way as `energy analyze` and `energy report`. */
async function finish({ blocks }: Plan, folder: string, json: boolean): Promise<void> {
  const { result, paths } = await writeReport(folder, folder);
  await (json ? printJson(result) : printLine(`${summary(result)}\n${paths.join('\n')}`));
  // One block has no interval; a plan of one, the paper's, asked for no more than its pairs.
  const needed = Math.min(2, blocks);
  const without = result.verdicts.filter(({ verdict }) => verdict.blocks.length < needed);
  if (without.length === 0) return;
  const found = without
    .map(({ candidate, verdict }) => `${verdict.blocks.length} of ${candidate}`)
    .join(', ');
  throw new SpikedError(
    'ERR_EXPERIMENT_INVALID',
    `${folder}: expected ${needed} valid blocks of every candidate, found ${found}; report.md says why`,
  );
}

async function dryRun(plan: Plan, meter: Meter, { socket, json }: RunOptions): Promise<void> {
  const preview = await interruptible(async (signal) => {
    const subject = await DaemonSubject.start(plan, socket);
    try {
      return previewOf(plan, meter.traits, await pilot(plan, subject, signal));
    } finally {
      await subject.close();
    }
  });
  if (json === true) await printJson(previewJson(plan, preview));
  else await printLine(previewText(plan, preview));
  if (preview.tooShort !== null)
    throw new SpikedError('ERR_PLAN_INVALID', `${plan.name}: ${preview.tooShort}`);
}

async function carryOut(
  plan: Plan,
  folder: string,
  past: Awaited<ReturnType<typeof readFolder>>,
  meter: Meter,
  { socket, reconnect }: RunOptions,
): Promise<void> {
  const feed = new MeterFeed();
  await interruptible(async (signal) => {
    try {
      // First: a wrong port should not wait for models to load.
      const abandon = (): void => void meter.stop();
      signal.addEventListener('abort', abandon);
      await meter.start(feed);
      signal.removeEventListener('abort', abandon);
      const subject = await DaemonSubject.start(plan, socket);
      remark(`measuring into ${folder}`);
      const view = experimentView(() => feed.watts);
      try {
        await runExperiment({
          plan,
          folder,
          past,
          meter,
          feed,
          subject,
          signal,
          reconnectMs: reconnect * 1000,
          report: view.report,
        });
      } catch (error) {
        view.end();
        remark(`${folder}: --resume goes on after the last whole block; energy analyze shows what is there`);
        throw error;
      } finally {
        view.end();
        await subject.close();
      }
    } finally {
      await meter.stop();
    }
  });
}
