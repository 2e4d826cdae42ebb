import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from '../../tensor/gguf-draft.js';
import { tinyBitnet } from '../../tensor/tiny-bitnet.js';
import { tinyModel } from '../../tensor/tiny-model.js';
import { mustFail, programPath, runProgram } from '../native-build.js';
import { run } from '../process.js';
import { add, byExit, skip, type Stage, type StageResult } from '../report.js';

import { addressBuild, buildAddress } from './sanitizers.js';

const seed = 1;
const planted = { SPIKED_FUZZ_PLANT: '1' };
const noticed = /heap-buffer-overflow/;

async function withMutator(files: readonly string[], seconds: number): Promise<StageResult> {
  const program = programPath(addressBuild, 'spiked_gguf_mutate');
  const args = [String(seconds), String(seed), ...files];
  return add(
    await mustFail(addressBuild, 'spiked_gguf_mutate', ['60', ...args.slice(1)], noticed, planted),
    byExit(await run(program, args, { timeoutMs: (seconds + 120) * 1000 }), `the mutator with seed ${seed}`),
  );
}

async function withLibFuzzer(corpus: string, seconds: number): Promise<StageResult> {
  const artifacts = `-artifact_prefix=${addressBuild}/`;
  const args = [`-seed=${seed}`, '-timeout=20', '-rss_limit_mb=4096', '-max_len=4000000', artifacts];
  const program = programPath(addressBuild, 'spiked_gguf_fuzz');
  return add(
    await mustFail(
      addressBuild,
      'spiked_gguf_fuzz',
      [...args, '-max_total_time=120', corpus],
      noticed,
      planted,
    ),
    byExit(
      await run(program, [...args, `-max_total_time=${seconds}`, corpus], {
        timeoutMs: (seconds + 120) * 1000,
      }),
      'libFuzzer',
    ),
  );
}

/** Models as small as the format allows in each of its forms: the smaller the file, the more inputs a second. */
function writeCorpus(folder: string): string[] {
  const small = { vocab: 20, dim: 8, heads: 2, ffn: 12, layers: 1, window: 3, anchors: 1 };
  const models = {
    f32: tinyModel(small),
    int8: tinyModel({ ...small, weights: 'int8', tokenizer: Buffer.from('no tokenizer') }),
    int4mix: tinyModel({ ...small, weights: 'int4mix' }),
    row: tinyModel({ ...small, layoutPlan: 'row' }),
    column: tinyModel({ ...small, layoutPlan: 'column' }),
    'no-attention': tinyModel({ ...small, form: '194m', sparseAttn: false }),
    'no-prior': tinyModel({ ...small, form: '194m', dynamicPrior: false }),
    i2_s: tinyBitnet({ vocab: 20, layers: 1, ffn: 128 }),
    'i2_s-output': tinyBitnet({
      architecture: 'bitnet-25',
      output: true,
      vocab: 20,
      layers: 1,
      ffn: 128,
    }),
  };
  return Object.entries(models).map(([name, draft]) => {
    const path = join(folder, `${name}.gguf`);
    writeFileSync(path, encode(draft));
    return path;
  });
}

/** Mutated model files, read and run under AddressSanitizer and UBSan. */
export const fuzz: Stage = {
  name: 'fuzz',
  async run({ long }) {
    const { clang, built } = await buildAddress();
    if (built.failed > 0) return built;
    if (built.passed === 0) return skip('fuzz: no AddressSanitizer runtime');
    const seconds = long ? 600 : 20;
    const corpus = mkdtempSync(join(tmpdir(), 'spiked-'));
    try {
      const files = writeCorpus(corpus);
      // A corpus that the loader refuses would keep the fuzzers outside.
      const valid: StageResult[] = [];
      for (const file of files) valid.push(await runProgram(addressBuild, 'spiked_engine_smoke', [file]));
      const fuzzer = clang
        ? withLibFuzzer(corpus, seconds)
        : skip('fuzz: libFuzzer: clang with its runtime is not installed');
      return add(...valid, await withMutator(files, seconds), await fuzzer);
    } finally {
      rmSync(corpus, { recursive: true, force: true });
    }
  },
};
