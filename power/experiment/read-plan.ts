import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SpikedError } from '../../client/protocol/errors.js';
import { describeIssue, show } from './issue.js';
import { planSchema, type Plan } from './plan.js';

/**
 * The plan in a file, every default filled in.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO; ERR_PLAN_INVALID with file, key, what was expected and what was found
 */
export async function readPlan(path: string): Promise<Plan> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new SpikedError('ERR_FILE_NOT_FOUND', `${path}: expected a plan, found no such file`);
    throw new SpikedError('ERR_FILE_IO', `${path}: expected a plan, found ${message}`);
  });
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw invalid(path, `expected JSON, found ${(error as Error).message}`);
  }
  return parsePlan(raw, path);
}

/** @throws SpikedError ERR_PLAN_INVALID */
export function parsePlan(raw: unknown, path: string): Plan {
  const parsed = planSchema.safeParse(raw);
  if (!parsed.success) throw invalid(path, describeIssue(parsed.error, raw));
  const plan = parsed.data;
  if ((plan.tokens === undefined) === (plan.min_seconds === undefined))
    throw invalid(
      path,
      `tokens, min_seconds: expected exactly one of the two, found ${plan.tokens === undefined ? 'neither' : 'both'}`,
    );
  if (plan.min_seconds === 0) throw invalid(path, 'min_seconds: expected more than 0, found 0');
  plan.arms.forEach(({ name }, i) => {
    if (plan.arms.findIndex((other) => other.name === name) !== i)
      throw invalid(path, `arms[${i}].name: expected a name of its own, found ${show(name)} twice`);
  });
  const { min_s: least, max_s: most } = plan.warm_up;
  if (least > most) throw invalid(path, `warm_up.min_s: expected at most max_s, ${most}, found ${least}`);
  return plan;
}

/** plan.json: the same plan gives the same bytes. */
export function planText(plan: Plan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}

/** Hex. */
export function planSha256(plan: Plan): string {
  return createHash('sha256').update(planText(plan)).digest('hex');
}

/** The first key in which two plans differ, with both values; null when they are the same. */
export function planDifference(expected: unknown, found: unknown, at = ''): string | null {
  if (isMap(expected) && isMap(found)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const inside = planDifference(expected[key], found[key], at === '' ? key : `${at}.${key}`);
      if (inside !== null) return inside;
    }
    return null;
  }
  if (JSON.stringify(expected) === JSON.stringify(found)) return null;
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length)
    for (const [i, item] of expected.entries()) {
      const inside = planDifference(item, found[i], `${at}[${i}]`);
      if (inside !== null) return inside;
    }
  return `${at}: expected ${show(expected)}, found ${show(found)}`;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function invalid(path: string, what: string): SpikedError {
  return new SpikedError('ERR_PLAN_INVALID', `${path}: ${what}`);
}
