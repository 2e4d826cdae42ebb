import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { invalid, parsePlan } from '../../../power/experiment/read-plan.js';
import type { Plan } from '../../../power/experiment/plan.js';
import { parseParams, SpikedError } from '../../index.js';
import { bundledModel } from '../daemon/reach.js';

export type Arm = Plan['arms'][number];

/** Keys of `text.generate` that the plan says elsewhere, or that would make runs unequal. */
const notOfAnArm: Readonly<Record<string, string>> = {
  stream: 'the experiment names its streams',
  prompt: 'all arms have the prompt of the plan',
  tokens: 'all arms have the prompt of the plan',
  model: '"model" of the arm, beside "request"',
  max_tokens: '"tokens" or "min_seconds" of the plan',
  ignore_eos: 'a run never ends at EOS',
  stop: 'a run has a fixed count of tokens',
  timeout_ms: 'a run has a fixed count of tokens',
};

/**
 * A plan as it is carried out: models as absolute paths (relative ones count from the plan's own folder), each arm's request with every default of
 * the protocol, greedy unless it says otherwise.
 *
 * @param where     the plan's file, for messages and relative paths
 * @param override  of the command line
 * @throws SpikedError ERR_PLAN_INVALID, ERR_FILE_NOT_FOUND
 */
export function completePlan(
  plan: Plan,
  where: string,
  override: { model?: string; meter?: string; named: boolean },
): Plan {
  const model =
    override.model === undefined ? undefined : override.named ? override.model : resolve(override.model);
  const file = (path: string, key: string) => modelFile(path, key, where, override.named);
  const common =
    model ??
    (plan.model === undefined ? (override.named ? undefined : bundledModel) : file(plan.model, 'model'));
  const full = {
    ...plan,
    ...(common === undefined ? {} : { model: common }),
    arms: plan.arms.map((arm, i) => ({
      ...arm,
      ...(arm.model === undefined ? {} : { model: file(arm.model, `arms[${i}].model`) }),
      request: completeRequest(arm.request, `arms[${i}].request`, where),
    })),
    meter: { ...plan.meter, ...(override.meter === undefined ? {} : { address: override.meter }) },
  };
  // Once more through the schema: the order of keys is part of plan.json's digest.
  return parsePlan(full, where);
}

/** @param named  a daemon that runs already may know the model by a name */
function modelFile(model: string, key: string, where: string, named: boolean): string {
  const isPath = model.includes('/') || model.endsWith('.gguf');
  if (named && !isPath) return model;
  const path = resolve(dirname(where), model);
  if (named) return path;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new SpikedError(
      'ERR_FILE_NOT_FOUND',
      `${where}: ${key}: expected a model file, found none at ${path}`,
    );
  if (!found.isFile())
    throw invalid(
      where,
      `${key}: expected a model file, found ${found.isDirectory() ? 'a folder' : 'another kind of file'} at ${path}`,
    );
  return path;
}

function completeRequest(
  request: Readonly<Record<string, unknown>>,
  key: string,
  where: string,
): Record<string, unknown> {
  for (const name of Object.keys(request)) {
    const instead = notOfAnArm[name];
    if (instead !== undefined)
      throw invalid(where, `${key}.${name}: expected no such key (${instead}), found it`);
  }
  const raw = { temperature: 0, ...request, stream: 1, prompt: 'x', ignore_eos: true };
  try {
    const asked = parseParams('text.generate', raw);
    if (asked.temperature > 0 && asked.seed === undefined)
      throw invalid(
        where,
        `${key}.seed: expected a seed, as temperature ${asked.temperature} draws ids at random, found none`,
      );
    return Object.fromEntries(Object.entries(asked).filter(([name]) => !(name in notOfAnArm)));
  } catch (error) {
    if (!(error instanceof SpikedError) || error.code !== 'ERR_INVALID_ARGUMENT') throw error;
    throw invalid(where, `${key}: ${error.message.replace(/^text\.generate: /, '').replaceAll('"', '')}`);
  }
}
