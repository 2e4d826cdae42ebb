import { existsSync } from 'node:fs';
import { runInLanes } from '../lanes.js';
import { buildPrograms, programPath, runProgram } from '../native-build.js';
import { add, type Stage } from '../report.js';
import { tinyModelFile, tinyWeights } from '../tiny-model.js';
import type { StageResult } from '../report.js';

/**
 * The programs of test/native over the tiny models, two at a time.
 *
 * @param args  of the unit tests, all without
 */
export async function nativePrograms(folder: string, args: string[] = []): Promise<StageResult> {
  const smoke = 'spiked_engine_smoke';
  const programs: [name: string, args: string[]][] = tinyWeights.map((weights) => [
    smoke,
    [tinyModelFile(weights)],
  ]);
  if (existsSync(programPath(folder, 'spiked_native_test'))) programs.unshift(['spiked_native_test', args]);
  const results = await runInLanes(programs, {
    waits: () => true,
    long: () => false,
    run: ([name, words]) => runProgram(folder, name, words),
    tell: () => undefined,
  });
  return add(...results);
}

export const native: Stage = {
  name: 'native',
  async run() {
    const built = await buildPrograms('build-native', { SPIKED_WERROR: 'ON' });
    return built.failed > 0 ? built : add(built, await nativePrograms('build-native'));
  },
};
