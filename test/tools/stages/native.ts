import { existsSync } from 'node:fs';
import { buildPrograms, programPath, runProgram } from '../native-build.js';
import { add, type Stage } from '../report.js';
import { tinyModelFile, tinyWeights } from '../tiny-model.js';
import type { StageResult } from '../report.js';

/** The programs of test/native over the tiny models. */
export async function nativePrograms(folder: string, env: Record<string, string> = {}): Promise<StageResult> {
  const results: StageResult[] = [];
  if (existsSync(programPath(folder, 'spiked_native_test')))
    results.push(await runProgram(folder, 'spiked_native_test', [], { env }));
  for (const weights of tinyWeights)
    results.push(await runProgram(folder, 'spiked_engine_smoke', [tinyModelFile(weights)], { env }));
  return add(...results);
}

export const native: Stage = {
  name: 'native',
  async run() {
    const built = await buildPrograms('build-native', { SPIKED_WERROR: 'ON' });
    return built.failed > 0 ? built : add(built, await nativePrograms('build-native'));
  },
};
