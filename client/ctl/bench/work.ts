import type { ModelInfo, NativeSession, SessionStats } from '../../../native/host/index.js';

/** Least bytes that a token has to read, by what they hold. */
export interface BytesByClass {
  /** Dense projections of the blocks, with their norms and scales. */
  dense: number;
  /** Columns of active inputs of the sparse projections. */
  columns: number;
  head: number;
  /** The token's row of the embedding. */
  embedding: number;
  /** Keys and values of the positions that attention sees. */
  kv: number;
}

/** Multiply-adds of the blocks' dense products for one position. */
export function denseMacs(info: ModelInfo): number {
  const { embedDim, ffnDim, nLayers, sparseAttn, layoutPlan } = info;
  const square = embedDim * embedDim;
  const [attention, up] = [(sparseAttn ? 4 : 1) * square, ffnDim * embedDim];
  // Row panels of the sparse projections are read and multiplied whole.
  const sparse = layoutPlan === 'row' ? square + up : 0;
  return nLayers * (attention + up + sparse);
}

/** Multiply-adds of the head for one position. */
export function headMacs({ embedDim, vocabSize, dynamicPrior }: ModelInfo): number {
  const quarter = Math.floor(embedDim / 4);
  return vocabSize * embedDim + (dynamicPrior ? quarter * (embedDim + vocabSize) : 0);
}

const active = ({ mixerActive, ffnActive }: SessionStats) => mixerActive + ffnActive;

/** Adds up what the forwards of one round read. */
export class BytesMeter {
  private total = 0;
  private head = 0;
  private kv = 0;
  private tokens = 0;
  private readonly activeBefore: number;

  constructor(
    private readonly session: NativeSession,
    private readonly info: ModelInfo,
  ) {
    this.activeBefore = active(session.stats());
  }

  /** After a step that fed so many ids, with the session's stats then. */
  add(tokens: number, headBytes: number, { bytesTouched, kvBytesTouched }: SessionStats): void {
    this.total += bytesTouched + kvBytesTouched;
    this.kv += kvBytesTouched;
    this.head += headBytes;
    this.tokens += tokens;
  }

  /** A token's, all together and by class. */
  perToken(): { bytes: number; byClass: BytesByClass } {
    const { session, info, tokens } = this;
    const columns = (active(session.stats()) - this.activeBefore) * info.columnBytes;
    const embedding = tokens * info.embedDim * 4;
    const byClass = {
      dense: (this.total - this.kv - columns - this.head - embedding) / tokens,
      columns: columns / tokens,
      head: this.head / tokens,
      embedding: embedding / tokens,
      kv: this.kv / tokens,
    };
    return { bytes: this.total / tokens, byClass };
  }
}
