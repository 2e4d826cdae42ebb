import { compiler } from '../compiler.js';
import { buildPrograms, canBuild, mustFail } from '../native-build.js';
import { which } from '../process.js';
import { add, skip, type Stage } from '../report.js';
import { nativePrograms } from './native.js';

const smoke = 'spiked_engine_smoke';
const empty = 'int main() { return 0; }\n';

/** Clang's libFuzzer needs the sanitizers of the same compiler, so one build serves both. */
export async function fuzzingClang(): Promise<string | undefined> {
  const source =
    '#include <cstdint>\n#include <cstddef>\nextern "C" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }\n';
  if (which('clang++') === undefined) return undefined;
  return (await canBuild('clang++', ['-fsanitize=fuzzer,address,undefined'], source)) ? 'clang++' : undefined;
}

export const addressBuild = 'build-asan';

/** Builds with AddressSanitizer and UBSan; undefined when it could, else what to report. */
export async function buildAddress(): Promise<{
  clang: boolean;
  built: Awaited<ReturnType<typeof buildPrograms>>;
}> {
  const clang = await fuzzingClang();
  const using = clang ?? compiler();
  if (clang === undefined && !(await canBuild(using, ['-fsanitize=address,undefined'], empty)))
    return { clang: false, built: skip(`asan-ubsan: ${using} has no AddressSanitizer runtime`) };
  const sanitize = clang === undefined ? 'address,undefined' : 'address,undefined,fuzzer-no-link';
  return {
    clang: clang !== undefined,
    built: await buildPrograms(addressBuild, { SPIKED_SANITIZE: sanitize }, using),
  };
}

export const asan: Stage = {
  name: 'asan-ubsan',
  async run() {
    const { built } = await buildAddress();
    if (built.passed === 0) return built;
    return add(
      built,
      await mustFail(addressBuild, smoke, ['--plant', 'overflow'], /heap-buffer-overflow/),
      await mustFail(addressBuild, smoke, ['--plant', 'undefined'], /signed integer overflow/),
      await mustFail(addressBuild, smoke, ['--plant', 'leak'], /detected memory leaks/),
      await nativePrograms(addressBuild),
    );
  },
};

export const tsan: Stage = {
  name: 'tsan',
  async run() {
    const using = compiler();
    if (!(await canBuild(using, ['-fsanitize=thread'], empty)))
      return skip(`tsan: ${using} has no ThreadSanitizer runtime that works on this kernel`);
    const built = await buildPrograms('build-tsan', { SPIKED_SANITIZE: 'thread' }, using);
    if (built.passed === 0) return built;
    return add(
      built,
      await mustFail('build-tsan', smoke, ['--plant', 'race'], /data race/),
      // Kernels start no thread, and take two thirds of the time.
      await nativePrograms('build-tsan', ['--except', 'kernels: ']),
    );
  },
};
