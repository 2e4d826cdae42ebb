import type { Environment, MachineState } from '../../../power/experiment/record.js';
import type { Plan } from '../../../power/experiment/plan.js';
import type { Generated, Subject } from '../../../power/experiment/subject.js';
import { SpikedError, type GenerateParams } from '../../index.js';
import { groupArms, startOwn, useRunning, type ArmDaemon } from './arm-daemons.js';
import type { Arm } from './arms.js';
import { describeEnvironment } from './environment.js';
import { cpusOf, MachineProbe } from './machine-state.js';

/** Silence of a daemon that counts as its end. */
const silenceMs = 120_000;

/** The arms of a plan on daemons: private ones, one for all arms that can share it, all up from start to end; or one that runs already. */
export class DaemonSubject implements Subject {
  private constructor(
    private readonly plan: Plan,
    private readonly daemons: ArmDaemon[],
    private readonly restart: (arms: readonly Arm[]) => Promise<ArmDaemon>,
    private readonly probe: MachineProbe,
  ) {}

  /**
   * @param plan    complete (`completePlan`)
   * @param socket  of a daemon that runs already; undefined starts private ones
   * @throws SpikedError why a daemon cannot be had
   */
  static async start(plan: Plan, socket: string | undefined): Promise<DaemonSubject> {
    if (socket !== undefined) refuseDaemonSettings(plan);
    const begin = (arms: readonly Arm[]) =>
      socket === undefined ? startOwn(plan, arms) : useRunning(plan, arms, socket);
    const daemons: ArmDaemon[] = [];
    try {
      for (const arms of groupArms(plan)) daemons.push(await begin(arms));
      const lists = await Promise.all(daemons.map(async ({ client }) => (await client.serverInfo()).cpus));
      const pids = () => [...new Set(daemons.map(({ pid }) => pid))];
      return new DaemonSubject(plan, daemons, begin, new MachineProbe(cpusOf(lists), pids));
    } catch (error) {
      await Promise.all(daemons.map((daemon) => daemon.close()));
      throw error;
    }
  }

  async generate(
    name: string,
    tokens: number,
    signal: AbortSignal,
    onToken: (count: number) => void = () => undefined,
  ): Promise<Generated> {
    const daemon = this.daemonOf(name);
    const marksNs: bigint[] = [];
    const ids: number[] = [];
    const sentNs = process.hrtime.bigint();
    let [requests, failure]: [number, SpikedError | null] = [0, null];
    try {
      while (ids.length < tokens && failure === null) {
        requests++;
        const before = ids.length;
        const count = Math.min(tokens - before, daemon.requestTokens);
        const generation = daemon.client.generate(this.params(name, daemon, count), {
          signal,
          timeoutMs: silenceMs,
        });
        for await (const { token, t_ns } of generation) {
          marksNs.push(t_ns);
          ids.push(token);
          onToken(ids.length);
        }
        const { stop_reason } = await generation.result;
        if (ids.length - before < count)
          failure = new SpikedError(
            'ERR_CANCELLED',
            `the daemon ended it after ${ids.length} tokens (${stop_reason})`,
          );
      }
    } catch (error) {
      failure = error instanceof SpikedError ? error : new SpikedError('ERR_INTERNAL', String(error));
    }
    return { sentNs, answeredNs: process.hrtime.bigint(), marksNs, ids, requests, failure };
  }

  describe(): Promise<Environment> {
    return describeEnvironment(this.daemons);
  }

  machine(): Promise<MachineState> {
    return this.probe.read();
  }

  /** Starts the arm's daemon again when it is gone. */
  async revive(name: string): Promise<void> {
    const daemon = this.daemonOf(name);
    await daemon.close().catch(() => undefined);
    const again = await this.restart(this.plan.arms.filter((arm) => daemon.arms.includes(arm.name)));
    this.daemons.splice(this.daemons.indexOf(daemon), 1, again);
  }

  async close(): Promise<void> {
    await Promise.all(this.daemons.map((daemon) => daemon.close()));
  }

  private daemonOf(name: string): ArmDaemon {
    const daemon = this.daemons.find(({ arms }) => arms.includes(name));
    if (daemon === undefined) throw new SpikedError('ERR_INTERNAL', `arm "${name}": no daemon serves it`);
    return daemon;
  }

  private params(name: string, daemon: ArmDaemon, count: number): GenerateParams {
    const arm = this.plan.arms.find((one) => one.name === name);
    const run = { prompt: this.plan.prompt, model: daemon.model, max_tokens: count, ignore_eos: true };
    // Checked against the protocol when the plan was completed.
    return { ...(arm?.request as GenerateParams), ...run };
  }
}

function refuseDaemonSettings({ arms }: Plan): void {
  for (const [i, { daemon }] of arms.entries())
    for (const [key, value] of Object.entries(daemon))
      throw new SpikedError(
        'ERR_PLAN_INVALID',
        `arms[${i}].daemon.${key}: expected nothing with --socket, whose daemon has settings of its own, found ${JSON.stringify(value)}`,
      );
}
