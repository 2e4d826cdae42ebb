/**
 * What llvm-mca estimates for the inner loops of the NEON kernels on Cortex-A55 and Neoverse N1 (the Cortex-A76's sibling), in cycles
 * for 16 weights of one token, weights in L1. A report, never a gate: the model of the A55 issues in order as GCC placed the
 * instructions, and neither knows of memory.
 *
 *     node dist/bench/neon-estimates.js [BUILD] [LLVM-MCA]
 *
 * BUILD is an arm64 build (build-arm64-test, which the arm64 tests leave), LLVM-MCA 16 or newer. Prints a table in Markdown.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const [build = 'build-arm64-test', mca = 'llvm-mca-19'] = process.argv.slice(2);
const cpus = ['cortex-a55', 'neoverse-n1'] as const;

/** An inner loop: known by how often it has an instruction, and what it multiplies or adds. */
interface Loop {
  object: string;
  tokens: number;
  mnemonic: string;
  times: number;
  weights: number;
}
const loops: readonly Loop[] = [
  { object: 'neon/matmul_f32_f32', tokens: 1, mnemonic: 'fmla', times: 8, weights: 32 },
  { object: 'neon/matmul_f32_f32', tokens: 4, mnemonic: 'fmla', times: 16, weights: 64 },
  { object: 'neon/matmul_i8_f32', tokens: 1, mnemonic: 'scvtf', times: 32, weights: 128 },
  { object: 'neon/matmul_i8_f32', tokens: 3, mnemonic: 'fmla', times: 48, weights: 192 },
  { object: 'neon/matmul_i8_i16', tokens: 1, mnemonic: 'smlal2', times: 16, weights: 128 },
  { object: 'neon/matmul_i8_i16', tokens: 4, mnemonic: 'smlal2', times: 64, weights: 512 },
  { object: 'neon/matmul_i8_i8', tokens: 1, mnemonic: 'sadalp', times: 8, weights: 128 },
  { object: 'neon/matmul_i8_i8', tokens: 2, mnemonic: 'sadalp', times: 16, weights: 256 },
  { object: 'neon/matmul_i4_f32', tokens: 1, mnemonic: 'scvtf', times: 32, weights: 128 },
  { object: 'neon/matmul_i4_f32', tokens: 4, mnemonic: 'fmla', times: 36, weights: 128 },
  { object: 'neon/matmul_i4_i16', tokens: 1, mnemonic: 'scvtf', times: 4, weights: 128 },
  { object: 'neon/matmul_i4_i16', tokens: 2, mnemonic: 'scvtf', times: 8, weights: 256 },
  { object: 'neon/matmul_i4_i8', tokens: 1, mnemonic: 'scvtf', times: 4, weights: 128 },
  { object: 'neon/matmul_i4_i8', tokens: 2, mnemonic: 'scvtf', times: 8, weights: 256 },
  { object: 'neon_dotprod/matmul_i8_i16', tokens: 1, mnemonic: 'sdot', times: 16, weights: 128 },
  { object: 'neon_dotprod/matmul_i8_i16', tokens: 2, mnemonic: 'sdot', times: 32, weights: 256 },
  { object: 'neon_dotprod/matmul_i8_i8', tokens: 1, mnemonic: 'sdot', times: 8, weights: 128 },
  { object: 'neon_dotprod/matmul_i8_i8', tokens: 4, mnemonic: 'sdot', times: 32, weights: 512 },
  { object: 'neon_dotprod/matmul_i4_i16', tokens: 1, mnemonic: 'sdot', times: 16, weights: 128 },
  { object: 'neon_dotprod/matmul_i4_i16', tokens: 2, mnemonic: 'sdot', times: 32, weights: 256 },
  { object: 'neon_dotprod/matmul_i4_i8', tokens: 1, mnemonic: 'sdot', times: 8, weights: 128 },
  { object: 'neon_dotprod/matmul_i4_i8', tokens: 2, mnemonic: 'sdot', times: 16, weights: 256 },
  { object: 'neon/column_sum_f32', tokens: 1, mnemonic: 'fadd', times: 16, weights: 64 },
  { object: 'neon/column_sum_i8', tokens: 1, mnemonic: 'saddw2', times: 16, weights: 256 },
];

interface Instruction {
  address: number;
  mnemonic: string;
  text: string;
}

function disassemble(object: string): Instruction[] {
  const path = join(build, 'CMakeFiles/spiked_core.dir/native/kernels', `${object}.cpp.o`);
  const text = execFileSync('aarch64-linux-gnu-objdump', ['-d', '--no-show-raw-insn', path], {
    encoding: 'utf8',
  });
  return [...text.matchAll(/^\s*([0-9a-f]+):\s+(\S+)[ \t]*(.*)$/gm)].map(
    ([, address = '', mnemonic = '', operands = '']) => ({
      address: parseInt(address, 16),
      mnemonic,
      text: `${mnemonic} ${operands.replace(/\/\/.*/, '')}`,
    }),
  );
}

/** Bodies between a backward branch and its target that hold no other such body. */
function innerLoops(code: readonly Instruction[]): Instruction[][] {
  const ranges = code.flatMap(({ address, text }, end) => {
    const target = /^(?:b\.\w+|cbn?z|tbn?z)\b.*?\b([0-9a-f]+) </.exec(text)?.[1];
    const to = target === undefined ? Infinity : parseInt(target, 16);
    const begin = to <= address ? code.findIndex((instruction) => instruction.address === to) : -1;
    return begin < 0 ? [] : [{ begin, end }];
  });
  return ranges
    .filter((r) => !ranges.some((other) => other !== r && other.begin >= r.begin && other.end <= r.end))
    .map(({ begin, end }) => code.slice(begin, end + 1));
}

function cycles(body: readonly Instruction[], cpu: string): number {
  const iterations = 200;
  // Branches and addresses name symbols that the assembler would not know.
  const lines = body.map(({ text }) => text).filter((text) => !text.includes('<'));
  const args = [
    '-mtriple=aarch64',
    `-mcpu=${cpu}`,
    '-mattr=+dotprod,+fullfp16',
    `-iterations=${String(iterations)}`,
  ];
  const out = execFileSync(mca, args, { input: `${lines.join('\n')}\nb.ne 0\n`, encoding: 'utf8' });
  return Number(/^Total Cycles:\s+(\d+)/m.exec(out)?.[1]) / iterations;
}

process.stdout.write('| kernel | tokens | instructions | A55 | N1 |\n|---|---|---|---|---|\n');
for (const { object, tokens, mnemonic, times, weights } of loops) {
  const body = innerLoops(disassemble(object)).find(
    (loop) => loop.filter((instruction) => instruction.mnemonic === mnemonic).length === times,
  );
  if (body === undefined)
    throw new Error(`${object}: expected a loop with ${String(times)} ${mnemonic}, found none`);
  const per16 = (n: number): string => ((16 * n) / weights).toFixed(1);
  const estimates = cpus.map((cpu) => per16(cycles(body, cpu)));
  process.stdout.write(
    `| \`${object}\` | ${String(tokens)} | ${[per16(body.length), ...estimates].join(' | ')} |\n`,
  );
}
