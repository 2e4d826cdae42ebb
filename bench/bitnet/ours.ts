import { arbitraryIds } from '../../client/ctl/bench/rounds.js';
import { greedy, greedySteps } from '../../client/ctl/bench/greedy.js';
import { BytesMeter } from '../../client/ctl/bench/work.js';
import { addon } from '../../native/host/index.js';
import type { EngineOptions, HeadSettings } from '../../native/host/index.js';

/** One way to run our engine. */
export interface Setting {
  head: HeadSettings;
  engine: Pick<EngineOptions, 'memory' | 'kv' | 'headBits'>;
}

export const settings: Readonly<Record<string, Setting>> = {
  full: { head: { mode: 'full' }, engine: {} },
  'full-kv16': { head: { mode: 'full' }, engine: { kv: 'f16' } },
  'full-low': { head: { mode: 'full' }, engine: { memory: 'low' } },
  'topk-4': { head: { mode: 'topk', k: 4 }, engine: {} },
  'topk-4-low': { head: { mode: 'topk', k: 4 }, engine: { memory: 'low', kv: 'f16' } },
  'topk-4-low-4bit': {
    head: { mode: 'topk', k: 4 },
    engine: { memory: 'low', kv: 'f16', headBits: 4 },
  },
  certified: { head: { mode: 'certified' }, engine: {} },
  'certified-low': { head: { mode: 'certified' }, engine: { memory: 'low' } },
};

/** How long a turn is; the same for every contender. */
export interface Length {
  threads: number;
  promptTokens: number;
  tokens: number;
  context: number;
}

/** What a turn of any contender tells. */
export interface Rates {
  decode: number;
  prefill: number;
  /** Least bytes of weights that a token reads. */
  bytesPerToken: number;
  /** Kernels in use, where it is known. */
  isa?: string;
}

const warmUpTokens = 16;

/** One turn in this process: 16 ids to warm up, then a prompt of arbitrary ids, then greedy tokens after it. Rates are tokens a second. */
export async function oursTurn(
  path: string,
  { head, engine: options }: Setting,
  { threads, promptTokens, tokens, context }: Length,
): Promise<Rates> {
  const engine = addon().openEngine({ threads, context, ...options });
  const model = await engine.openModel(path);
  model.checkHead(head);
  const session = model.openSession();
  try {
    await session.step(arbitraryIds(warmUpTokens, model), greedy, { head });
    session.reset();
    const began = process.hrtime.bigint();
    const first = await session.step(arbitraryIds(promptTokens, model), greedy, { head });
    const meter = new BytesMeter(session, model.info);
    const last = await greedySteps(session, first, tokens, { head }, (step) => {
      meter.add(1, step.head.bytes, step.stats);
    });
    const { bytes, byClass } = meter.perToken();
    return {
      prefill: (promptTokens * 1e9) / Number(first.tNs - began),
      decode: (tokens * 1e9) / Number(last.tNs - first.tNs),
      bytesPerToken: bytes - byClass.kv,
      isa: engine.isa,
    };
  } finally {
    session.close();
    model.close();
    engine.close();
  }
}
