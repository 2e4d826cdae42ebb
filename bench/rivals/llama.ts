import { SpikedError } from '../../client/protocol/errors.js';

/** What is used of node-llama-cpp, which need not be installed. */
interface NodeLlamaCpp {
  getLlama: (options: {
    gpu: false;
    build: 'never';
    skipDownload: true;
    logLevel: 'error';
    maxThreads: number;
  }) => Promise<Llama>;
}

interface Llama {
  loadModel: (options: { modelPath: string }) => Promise<LlamaModel>;
  dispose: () => Promise<void>;
}

interface LlamaModel {
  createContext: (options: {
    contextSize: number;
    batchSize: number;
    threads: number;
  }) => Promise<{ getSequence: () => LlamaSequence }>;
}

interface LlamaSequence {
  evaluate: (
    tokens: number[],
    options: { temperature: number; yieldEogToken: boolean },
  ) => AsyncIterable<number>;
}

/** A name that the compiler does not look up. */
const packageName = ['node', 'llama', 'cpp'].join('-');

/**
 * llama.cpp's tokens a second over a file, as ours are measured: a prompt of arbitrary ids until the first token, then greedy tokens.
 *
 * @throws SpikedError ERR_TOOL_MISSING where node-llama-cpp is not installed or has no binary for this machine
 */
export async function runLlama(
  file: string,
  { threads, tokens, promptTokens }: { threads: number; tokens: number; promptTokens: number },
): Promise<{ decode: number; prefill: number }> {
  const llama = await open(threads);
  try {
    const model = await llama.loadModel({ modelPath: file });
    const contextSize = promptTokens + tokens + 16;
    const decoding = await model.createContext({ contextSize, batchSize: promptTokens, threads });
    const decode = (await timed(decoding.getSequence(), 8, tokens)).decode;
    const filling = await model.createContext({ contextSize, batchSize: promptTokens, threads });
    const { prefill } = await timed(filling.getSequence(), promptTokens, 1);
    return { decode, prefill };
  } finally {
    await llama.dispose();
  }
}

async function open(maxThreads: number): Promise<Llama> {
  try {
    const { getLlama } = (await import(packageName)) as NodeLlamaCpp;
    return await getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'error', maxThreads });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n', 1).join() : String(cause);
    throw new SpikedError(
      'ERR_TOOL_MISSING',
      `${packageName}: expected it with a binary for this machine (npm install --no-save --ignore-scripts ${packageName}), found ${why}`,
      { cause },
    );
  }
}

/** Tokens a second of the prompt, until the first token, and of those after it. */
async function timed(
  sequence: LlamaSequence,
  promptTokens: number,
  tokens: number,
): Promise<{ decode: number; prefill: number }> {
  const prompt = Array.from({ length: promptTokens }, (_, i) => 300 + ((i * 7919) % 1000));
  const answer = sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true });
  const generated = answer[Symbol.asyncIterator]();
  const began = performance.now();
  await generated.next();
  const first = performance.now();
  for (let i = 0; i < tokens; i++) await generated.next();
  const last = performance.now();
  await generated.return?.();
  return { prefill: (promptTokens * 1000) / (first - began), decode: (tokens * 1000) / (last - first) };
}
