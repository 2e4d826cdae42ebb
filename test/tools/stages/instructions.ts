import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import {
  CannotCount,
  count,
  differences,
  isas,
  neonReport,
  readExpected,
  renew,
  reportPath,
  type Isa,
} from '../instructions.js';
import { add, fail, pass, skip, type Stage, type StageResult } from '../report.js';

async function check(isa: Isa): Promise<StageResult> {
  const expected = readExpected();
  try {
    const { counts } = await count(isa, expected.gcc);
    const faults = differences(isa, counts, expected.counts[isa], expected.tolerance);
    const more = `If this is meant: ${renew}\n`;
    return faults.length === 0 ? pass() : fail(`${faults.join('\n')}\n${more}`);
  } catch (error) {
    if (error instanceof CannotCount) return skip(`instructions: ${isa}: ${error.message}`);
    throw error;
  }
}

function checkReport(): StageResult {
  const found: unknown = JSON.parse(readFileSync(reportPath, 'utf8'));
  if (isDeepStrictEqual(found, neonReport(readExpected()))) return pass();
  return fail(`${reportPath}: expected the counts of test/native/instructions/expected.json: ${renew}\n`);
}

/** Every kernel executes as many instructions as it did: what a change of speed shows as on a busy machine and without a board. */
export const instructions: Stage = {
  name: 'instructions',
  async run() {
    const results: StageResult[] = [];
    for (const isa of isas) results.push(await check(isa));
    return add(...results, checkReport());
  },
};
