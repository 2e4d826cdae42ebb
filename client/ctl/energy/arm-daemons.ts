import type { Plan } from '../../../power/experiment/plan.js';
import { connect, SpikedError, type Client, type ModelInfoMessage } from '../../index.js';

import { startPrivateDaemon, type PrivateDaemon } from '../daemon/private-daemon.js';
import type { Arm } from './arms.js';

/** A private daemon may serve requests this long; what they hold is theirs alone. */
const privateTokens = 1 << 20;

/** A daemon that serves one or more arms. */
export interface ArmDaemon {
  readonly arms: readonly string[];
  readonly client: Client;
  readonly pid: number;
  /** As `text.generate` takes it. */
  readonly model: string;
  readonly path: string;
  readonly info: ModelInfoMessage;
  /** Tokens of the plan's prompt, BOS included. */
  readonly promptTokens: number;
  /** Most tokens that one request can generate after the prompt. */
  readonly requestTokens: number;
  readonly own: boolean;
  close(): Promise<void>;
}

/** Arms that can share a daemon of their own: same model, same settings. */
export function groupArms(plan: Plan): Arm[][] {
  const groups = new Map<string, Arm[]>();
  for (const arm of plan.arms) {
    const { threads, cpus, activations } = arm.daemon;
    const key = JSON.stringify([arm.model ?? plan.model, threads, cpus, activations]);
    groups.set(key, [...(groups.get(key) ?? []), arm]);
  }
  return [...groups.values()];
}

/** @throws SpikedError what the daemon says when it cannot start */
export async function startOwn(plan: Plan, arms: readonly Arm[]): Promise<ArmDaemon> {
  const [first] = arms;
  const { threads, cpus, activations } = first?.daemon ?? {};
  const args = ['--context', String(privateTokens), '--max-tokens', String(privateTokens)];
  if (threads !== undefined) args.push('--threads', String(threads));
  if (cpus !== undefined) args.push('--cpus', cpus);
  if (activations !== undefined) args.push('--activations', activations);
  const model = first?.model ?? plan.model ?? '';
  const daemon: PrivateDaemon = await startPrivateDaemon(model, { args, callerHandlesSignals: true });
  try {
    return await describe(plan, arms, daemon.client, undefined, true, () => daemon.stop());
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

/** @throws SpikedError ERR_PLAN_INVALID an arm has daemon settings; ERR_DAEMON_NOT_RUNNING; errors of `model.load` */
export async function useRunning(plan: Plan, arms: readonly Arm[], socket: string): Promise<ArmDaemon> {
  const client = await connect({ path: socket });
  try {
    const model = arms[0]?.model ?? plan.model;
    const name = model === undefined ? undefined : (await client.loadModel(model)).name;
    return await describe(plan, arms, client, name, false, () => client.close());
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function describe(
  plan: Plan,
  arms: readonly Arm[],
  client: Client,
  wanted: string | undefined,
  own: boolean,
  close: () => Promise<void>,
): Promise<ArmDaemon> {
  const [server, models] = await Promise.all([client.serverInfo(), client.listModels()]);
  const model = models.find(({ name, default: usual }) => (wanted === undefined ? usual : name === wanted));
  if (model?.info === undefined)
    throw new SpikedError(
      'ERR_MODEL_NOT_FOUND',
      `daemon: expected ${wanted ?? 'a default model'} loaded, found none`,
    );
  const promptTokens = (await client.encode(plan.prompt, { bos: true, model: model.name })).length;
  const { info } = model;
  // Without a sliding window a step costs more the longer the text: beyond its own context the model is not what it is.
  const context = info.sparse_attn ? info.context_limit : Math.min(info.context_limit, info.max_context);
  const requestTokens = Math.min(context - promptTokens, server.limits['max_tokens'] ?? 1);
  if (requestTokens < 1)
    throw new SpikedError(
      'ERR_CONTEXT_FULL',
      `prompt: expected fewer than the ${context} tokens of the context, found ${promptTokens}`,
    );
  return {
    arms: arms.map(({ name }) => name),
    client,
    pid: server.pid,
    model: model.name,
    path: model.path,
    info,
    promptTokens,
    requestTokens,
    own,
    close,
  };
}
