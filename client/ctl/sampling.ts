import type { Command } from 'commander';
import type { GenerateParams } from '../index.js';
import { decimal, integer, repeated, seed } from './options.js';

/** How ids are drawn and when that ends, for every command that generates. */
export interface SamplingOptions {
  maxTokens: number;
  temperature: number;
  topK: number;
  topP: number;
  repetitionPenalty: number;
  adaptiveTemperature?: true;
  seed?: bigint;
  stop?: string[];
}

export function withSampling(command: Command): Command {
  return command
    .option('--max-tokens <n>', 'most tokens to generate', integer(1, 1_000_000), 128)
    .option('--temperature <t>', '0 is greedy', decimal(0, 100), 0.8)
    .option('--top-k <n>', '0 is off', integer(0, 2 ** 31 - 1), 50)
    .option('--top-p <p>', '1 is off', decimal(0, 1), 0.9)
    .option('--repetition-penalty <r>', '1 is off', decimal(0.01, 100), 1)
    .option('--adaptive-temperature', 'lower the temperature where the model is sure')
    .option('--seed <n>', 'start of the random numbers (default: random, and reported)', seed)
    .option('--stop <text>', 'end before this text; may be given several times', repeated);
}

export function samplingParams(options: SamplingOptions) {
  return {
    max_tokens: options.maxTokens,
    temperature: options.temperature,
    top_k: options.topK,
    top_p: options.topP,
    repetition_penalty: options.repetitionPenalty,
    adaptive_temperature: options.adaptiveTemperature === true,
    stop: options.stop ?? [],
  } satisfies GenerateParams;
}
