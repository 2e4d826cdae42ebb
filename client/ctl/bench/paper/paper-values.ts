/** What the paper reports (arXiv:2605.21333): 0.8B, Ryzen 7 5800X, Windows, AVX2, OpenMP; the head on a Radxa Rock 5T. */
export const paperValues = {
  machine: 'Ryzen 7 5800X, Windows, AVX2; 0.8B parameters',
  headMachine: 'Radxa Rock 5T (RK3588), 1 thread, 80 tokens; 0.8B parameters',
  precision: {
    f32: { tokensPerSecond: 9.82, weightsMib: 3355.2, peakRssMib: undefined },
    int8: { tokensPerSecond: 23.31, weightsMib: 1087.4, peakRssMib: 1175.9 },
    int4mix: { tokensPerSecond: 12.45, weightsMib: 897.9, peakRssMib: undefined },
  },
  /** INT8 tokens/s by threads. */
  threads: { 1: 22.63, 2: 39.08, 4: 47.9, 8: 47.28, 16: 41.8 } as Partial<Record<number, number>>,
  /** INT8 tokens/s of 512 tokens, by threads. */
  prefill512: { 1: 29.86, 8: 94.68 } as Partial<Record<number, number>>,
  /** FP32 tokens/s, 1 thread. */
  layout: { column: 8.2, row: 10.4, mixed: 13 },
  numerics: { allowedMaxAbs: 0.01, int8MeanAbs: 0.689, int8MaxAbs: 1.995, tokens: 60 },
  perplexity: { int8: 24.7979, text: 'WikiText-2, windows of 512, stride 512' },
  head: {
    steps: 80,
    triggered: 54,
    reduction: { 16: 99.972, 32: 99.944, 64: 99.888 } as Partial<Record<number, number>>,
    verificationPercent: '0.871 to 1.103',
    projectionPercent: '58.08 to 62.08',
  },
} as const;
