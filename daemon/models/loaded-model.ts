import { SpikedError, type ModelInfoMessage } from '../../client/protocol/index.js';
import {
  digestedLayout,
  layoutOf,
  type Layout,
  type ModelInfo,
  type NativeModel,
  type Tokenizer,
} from '../../native/host/index.js';
import { hasChatForm } from '../text/chat.js';

const layoutWarnings = {
  stated: [],
  known: [],
  unread: ['layout not verified yet'],
  unverified: ['layout unverified'],
} as const satisfies Record<Layout, readonly string[]>;

/** A model in memory and the count of requests that use it. */
export class LoadedModel {
  /** Ids that end a text. */
  readonly stopIds: ReadonlySet<number>;
  private users = 0;
  private onUnused: () => void = () => undefined;
  private closing: Promise<void> | null = null;
  private readonly closed = new AbortController();
  private layout: Layout;

  constructor(
    readonly name: string,
    readonly path: string,
    readonly native: NativeModel,
    readonly tokenizer: Tokenizer | null,
    /** Tokens that a request may reach, prompt included. */
    readonly contextLimit: number,
    /** Which file was at `path` then. */
    readonly file: string,
  ) {
    this.stopIds = new Set(tokenizer?.pieces.stopIds);
    this.layout = layoutOf(native.info);
  }

  /**
   * Finds out whether the file is a published one, where nothing in it says how its weights are laid out: at once, or by its digest.
   *
   * @returns whether it stays unverified
   */
  async verifyLayout(): Promise<boolean> {
    if (this.layout === 'unread') {
      try {
        this.layout = await digestedLayout(this.path, this.closed.signal);
        if (this.layout === 'known') this.native.checkFile(); // what was read is what was loaded
      } catch {
        this.layout = 'unverified';
      }
    }
    return this.layout === 'unverified';
  }

  get busy(): boolean {
    return this.users > 0;
  }

  acquire(): void {
    this.users++;
  }

  release(): void {
    this.users--;
    if (this.users === 0) this.onUnused();
  }

  /** Closes it once nobody uses it any more. */
  async retire(): Promise<void> {
    if (this.busy) await new Promise<void>((resolve) => (this.onUnused = resolve));
    await this.close();
  }

  /** @throws SpikedError ERR_TOKENIZER_MISSING */
  needTokenizer(): Tokenizer {
    if (this.tokenizer) return this.tokenizer;
    throw new SpikedError(
      'ERR_TOKENIZER_MISSING',
      `model "${this.name}": expected a tokenizer in its file, found none`,
    );
  }

  describe(): ModelInfoMessage {
    return {
      ...describeModel(this.native.info, this.contextLimit),
      tokenizer: this.tokenizer !== null,
      tokenizer_kind: this.tokenizer?.pieces.kind ?? null,
      chat: hasChatForm(this),
      warnings: [...layoutWarnings[this.layout]],
    };
  }

  close(): Promise<void> {
    return (this.closing ??= this.free());
  }

  private async free(): Promise<void> {
    this.closed.abort();
    this.native.close();
    await this.tokenizer?.close();
  }
}

function describeModel(
  info: ModelInfo,
  contextLimit: number,
): Omit<ModelInfoMessage, 'tokenizer' | 'tokenizer_kind' | 'chat' | 'warnings'> {
  return {
    architecture: info.architecture,
    form: info.form,
    weights: info.weights,
    name: info.name,
    data_sha256: info.dataSha256,
    vocab_size: info.vocabSize,
    valid_vocab_size: info.validVocabSize,
    embed_dim: info.embedDim,
    n_layers: info.nLayers,
    n_heads: info.nHeads,
    n_kv_heads: info.nKvHeads,
    head_dim: info.headDim,
    ffn_dim: info.ffnDim,
    max_context: info.maxContext,
    context_limit: contextLimit,
    window: info.window,
    n_anchors: info.nAnchors,
    threshold: info.threshold,
    leak: info.leak,
    sparse_attn: info.sparseAttn,
    dynamic_prior: info.dynamicPrior,
    file_size_bytes: info.fileSizeBytes,
    n_parameters: info.nParameters,
  };
}
