/**
 * What the addon exports, in one place. Everything else in TypeScript reaches the engine through native/host.
 * Every `Promise` here is settled from the engine's own thread; the event loop never computes. Errors are SpikedError.
 */

export interface BuildInfo {
  version: string;
  commit: string;
  compiler: string;
  numericsVersion: number;
  modelFormatVersion: number;
}

export interface IsaInfo {
  name: string;
  supported: boolean;
}

export interface SelfTestLine {
  kernel: string;
  cases: number;
  failures: number;
  detail: string;
}

/** Least, middle and most of a measurement's rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** What one kernel reaches (capi/spiked.h, spiked_kernel_rate). */
export interface KernelRate {
  /** One token over large weights, against plain reads of the same memory: bytes, 1e9 bytes a second, share. */
  read: { bytes: number; gbPerS: Spread; readGbPerS: Spread; share: Spread };
  /** A batch over weights that fit a cache: 1e9 multiply-adds a second; null for a kernel without batches. */
  batch: {
    tokens: number;
    macs: number;
    gmacPerS: Spread;
    /** The arithmetic peak measured in turn; null where none is known. */
    peak: { gmacPerS: Spread; share: Spread; instructions: string } | null;
  } | null;
}

/** What an instruction set's multiply-adds reach on registers alone. */
export interface ArithmeticPeak {
  /** 1e9 a second, all threads together. */
  gmacPerS: Spread;
  /** One link of the chain that was run. */
  instructions: string;
}

export interface ModelInfo {
  architecture: string;
  /** Which of SymbolicLight's published graphs; empty for a ternary model. */
  form: '0.8b' | '194m' | '';
  weights: 'f32' | 'int8' | 'int4mix' | 'i2_s';
  /** Layout of the Linear weights: `mixed` but for files made to compare layouts. */
  layoutPlan: 'mixed' | 'row' | 'column' | '';
  name: string;
  /** As declared in the file; empty for a ternary model. */
  dataSha256: string;
  vocabSize: number;
  validVocabSize: number;
  embedDim: number;
  nLayers: number;
  nHeads: number;
  nKvHeads: number;
  headDim: number;
  ffnDim: number;
  maxContext: number;
  window: number;
  nAnchors: number;
  threshold: number;
  leak: number;
  sparseAttn: boolean;
  dynamicPrior: boolean;
  fileSizeBytes: number;
  nParameters: number;
  /** Least bytes that a pass over the blocks reads whatever the activity. */
  denseBytes: number;
  /** Bytes that each active input of a sparse projection adds to that. */
  columnBytes: number;
  /** Raw SentencePiece model inside the file; sizeBytes 0 when there is none. */
  tokenizer: { offsetBytes: number; sizeBytes: number };
}

export interface Sampling {
  /** 0 is greedy. */
  temperature: number;
  /** 0 is off. */
  topK: number;
  /** 1 is off. */
  topP: number;
  /** 1 is off. */
  repetitionPenalty: number;
  adaptiveTemperature: boolean;
  /** Ids at or beyond it are masked; absent, or larger than the model's, is the model's. */
  validVocabSize?: number | undefined;
  bannedIds: Int32Array;
}

export type HeadMode = 'full' | 'scan' | 'gate' | 'certified' | 'topk';

/** How the next id is found (docs/numerics.md, "Heads"). What a mode does not name is ignored by it. */
export interface HeadSettings {
  mode: HeadMode;
  /** scan: precision of the pass; `i8` when absent. */
  activations?: 'f32' | 'i16' | 'i8' | undefined;
  /** gate: what the first pass does with i8 activations; `projection` when absent. */
  scope?: 'projection' | 'head' | undefined;
  /** gate: rows computed again; topk: in each block of 4,096 rows. 32 when absent. */
  k?: number | undefined;
  /** gate: verify when the top-two gap is below it; 0.5 when absent. */
  threshold?: number | undefined;
  /** certified: most rows computed exactly before every row is; three eighths of the vocabulary when absent. */
  cap?: number | undefined;
}

/** What one step of a head did (capi/spiked.h, spiked_head_step). */
export interface HeadStep {
  /** What ran: `full` where the request needs every row. */
  mode: HeadMode;
  triggered: boolean;
  proved: boolean;
  fellBack: boolean;
  gap: number;
  rows: number;
  survivors: number;
  idBefore: number;
  projectionNs: number;
  priorNs: number;
  selectionNs: number;
  verificationNs: number;
  bytes: number;
}

export interface StepOptions {
  head?: HeadSettings | undefined;
  /** Needs every row. */
  logprob?: boolean | undefined;
}

export interface StepResult {
  id: number;
  /** Natural log of the id's probability under the unscaled masked softmax; null when it was not asked for. */
  logprob: number | null;
  /** CLOCK_MONOTONIC, nanoseconds, when the id was known. */
  tNs: bigint;
  head: HeadStep;
}

export interface GenerateOptions extends StepOptions {
  /** From 1. */
  maxTokens: number;
  /** Ids after which no further one is drawn. */
  stopIds: Int32Array;
  /**
   * Most ids, up to 7, that a step guesses from what the text says elsewhere and verifies in its pass: the ids are those without
   * (docs/numerics.md, "Drafts"). 0, as when absent, is off; so are steps that sample or want log-probabilities.
   */
  maxDraft?: number | undefined;
}

export interface GeneratedStep extends StepResult {
  /** The session's as they were after this step: by now it may be further on. The first of a pass with a draft has its bytes. */
  stats: SessionStats;
  /** With `maxDraft`, of the first id of each pass: ids that it guessed, and how many of them were right and came with this one. */
  draft: { guessed: number; right: number } | null;
}

export interface Choices {
  ids: Int32Array;
  steps: HeadStep[];
}

export type LogitsMode = 'none' | 'last' | 'all';

/** What every threshold said, a byte each: 0 silent, 1 fired. Given to a pass, 2 leaves the decision to it. */
export interface Spikes {
  /** [n * embedDim] */
  encoder: Uint8Array;
  /** [nLayers * n * ffnDim], layer-major */
  ffn: Uint8Array;
  /** [nLayers * n * embedDim], layer-major, after each block: the next one's input. The last layer's feed nothing. */
  block: Uint8Array;
}

export interface ForwardOptions {
  logits: LogitsMode;
  /**
   * Record spike counts and margins; what else is asked for, too. `spikes` and `denseInputs` are of spiking models, `codes` and `finalNorm` of
   * ternary ones: ERR_MODEL_UNSUPPORTED elsewhere.
   */
  trace?:
    | { blockOut: boolean; spikes?: boolean; denseInputs?: boolean; codes?: boolean; finalNorm?: boolean }
    | undefined;
  /** Decisions for these ids, used in place of the engine's own. */
  given?: Spikes | undefined;
}

/** What a ternary model's quantiser made of n positions; all layer-major. */
export interface TernaryCodes {
  /** [nLayers * n * embedDim] into q, k and v */
  attnIn: Int8Array;
  /** [nLayers * n * nHeads * headDim] into attn_output */
  attnOut: Int8Array;
  /** [nLayers * n * embedDim] into gate and up */
  ffnIn: Int8Array;
  /** [nLayers * n * ffnDim] into down */
  ffnDown: Int8Array;
  /** [nLayers * 4 * n] largest magnitude of those four rows, before any floor */
  absmax: Float32Array;
}

export interface ForwardTrace {
  /** [n]; empty, as the two that follow, for a ternary model */
  activeEncoder: Int32Array;
  /** [nLayers * n], layer-major */
  activeMixer: Int32Array;
  /** [nLayers * n], layer-major */
  activeFfn: Int32Array;
  /** [nLayers * n * embedDim], only when asked */
  blockOut: Float32Array | null;
  /** Own decisions, given ones or not; only when asked. */
  spikes: Spikes | null;
  /** [nLayers * 3 * n * embedDim] inputs of q/k/v, of out, of up, before they are quantised; only when asked */
  denseInputs: Float32Array | null;
  /** Only when asked. */
  codes: TernaryCodes | null;
  /** [n * embedDim] what the head reads; only when asked */
  finalNorm: Float32Array | null;
  /** Smallest |z - threshold| of any neuron; Infinity where there are none. */
  marginEncoder: number;
  marginMixer: number;
  marginFfn: number;
}

export interface ForwardResult {
  /** 'last': [vocab]; 'all': [n * vocab]; 'none': null. Raw, unmasked. */
  logits: Float32Array | null;
  trace: ForwardTrace | null;
  tNs: bigint;
}

export interface ReferenceOptions {
  /** Decisions used in place of the reference's own. */
  given?: Spikes | undefined;
  /** `f32`, the default: exact numbers. `i16`, `i8`: the blocks' dense products take `denseInputs`, quantised. */
  activations?: Activations | undefined;
  /** Recorded by a forward of the same ids; with `i16` and `i8`, and only then. */
  denseInputs?: Float32Array | undefined;
}

export interface ReferenceResult {
  /** Own decisions, given ones or not. */
  spikes: Spikes;
  /** z - threshold; shapes as the spikes'. */
  margins: { encoder: Float64Array; ffn: Float64Array; block: Float64Array };
  /** [n * vocab] */
  logits: Float64Array;
}

export interface SessionStats {
  position: number;
  mixerActive: number;
  ffnActive: number;
  mixerTotal: number;
  ffnTotal: number;
  /** Least bytes of weights that the last forward had to read, and of keys and values. */
  bytesTouched: number;
  kvBytesTouched: number;
  stateBytes: number;
  /** Of `position`: taken over from the prefix cache instead of computed. */
  cachedPositions: number;
  /** Sequences that the last pass computed together. */
  batch: number;
}

export interface Probability {
  id: number;
  probability: number;
}

export interface Score {
  /** Log-probability of each id given those before it; [0] is 0. */
  logprobs: Float64Array;
  /** At each id, what the slots without a token would have had of the softmax of all slots; null unless asked for. */
  maskedMass: Float64Array | null;
}

/** One sequence. Calls on one session must not overlap; cancel(), pause() and close() may come at any time. */
export interface NativeSession {
  forward(ids: Int32Array, options: ForwardOptions): Promise<ForwardResult>;
  /** The float64 pass over ids as a sequence of its own; the session's state is neither read nor written. Slow. */
  reference(ids: Int32Array, options: ReferenceOptions): Promise<ReferenceResult>;
  /** Feeds ids, then draws the next one (not fed). */
  step(ids: Int32Array, sampling: Sampling, options?: StepOptions): Promise<StepResult>;
  /**
   * Steps one after the other, each fed what the one before drew, without waiting for JavaScript between them. Ends after `maxTokens`
   * or a stop id, after pause(), or when 256 steps wait for `onSteps` (a draft's last ones may be a few more); the last id is then not fed, and generate(that id) goes on.
   * Calls on other sessions of the engine get their turn after every step. Generates on one model step together, which reads the weights
   * once for all of them, with the bits that each alone would give.
   *
   * @param onSteps  gets every step, in order, as many at once as there are, as rows for generatedSteps, which must read them before it
   *                 returns; the last before the promise settles; none after close(). What it throws cancels the session, and the
   *                 promise rejects with it.
   */
  generate(
    ids: Int32Array,
    sampling: Sampling,
    options: GenerateOptions,
    onSteps: (rows: Float64Array, n: number) => void,
  ): Promise<void>;
  /** Ends a running generate after the step that is under way. */
  pause(): void;
  /** What a head answers to hidden states [n * embedDim] of the caller's; feeds nothing. */
  choose(hidden: Float32Array, sampling: Sampling, head?: HeadSettings): Promise<Choices>;
  /** Distribution that step would draw from, given the last forward. */
  probabilities(sampling: Sampling): Probability[];
  /** From a fresh session. */
  score(ids: Int32Array, options?: { maskedMass: boolean }): Promise<Score>;
  /** A session that goes on from where this one is as this one would: state, history and generator are copies. */
  fork(): Promise<NativeSession>;
  seed(seed: bigint): void;
  reset(): void;
  cancel(): void;
  stats(): SessionStats;
  /** Whether calls from now on are timed by operation: some microseconds a token. */
  profile(on: boolean): void;
  /** Nanoseconds of the engine's first worker by operation (`projections`, `barriers`, ...) since switched on or last read. */
  profileNs(): Record<string, number>;
  /** [embedDim] */
  membrane(): Float32Array;
  /** [nLayers * embedDim] */
  decayState(): Float32Array;
  kvPositions(): Int32Array;
  /** Frees at once, or when the running call ends. */
  close(): void;
}

export interface NativeModel {
  readonly info: ModelInfo;
  /** Throws when the model cannot serve the head. */
  checkHead(head: HeadSettings): void;
  /**
   * Throws ERR_MODEL_FILE_CHANGED when its file is mapped and was written to, cut or became unreadable since it was opened. What computes
   * with the model asks the same before it gives a result.
   */
  checkFile(): void;
  openSession(): NativeSession;
  /** Of its file, when it is mapped: bytes in this process's page table, and those of them that are locked. Takes milliseconds. */
  mapped(): { residentBytes: number; lockedBytes: number };
  /** What its prefix cache holds now. */
  prefixCacheBytes(): number;
  close(): void;
}

/** Precision of the blocks' dense products: `f32` is the reference, `i16` close to it, `i8` fast and coarse; both need quantised weights. */
export type Activations = 'f32' | 'i16' | 'i8';

/**
 * How a model's file comes into memory: mapped and read some MB at a time as it is used, mapped and read before openModel resolves, or copied
 * into huge pages where the kernel gives them; or mapped, read and locked in memory.
 */
export type Loading = 'readahead' | 'prefault' | 'huge_pages' | 'locked';

export interface EngineOptions {
  /** As many as `cpus` names, or as there are big cores, when absent. */
  threads?: number | undefined;
  /** Overrides SPIKED_FORCE_ISA. */
  isa?: string | undefined;
  activations?: Activations | undefined;
  /** CPUs of the workers: a list such as `4-7`, or `none`; the big cores, where cores differ, when absent (capi/spiked.h). */
  cpus?: string | undefined;
  /** `readahead` when absent. */
  loading?: Loading | undefined;
  /**
   * Of each model: what prompts before left behind. Sessions that begin alike take it over, in steps of 32 ids, with the same bits.
   * None when absent.
   */
  prefixCacheBytes?: number | undefined;
  /**
   * What the process may come to hold with this engine's models and sessions: what would cross it is refused with ERR_RAM_BUDGET before it
   * allocates, the engine itself too. No end when absent.
   */
  ramBudgetBytes?: number | undefined;
  /** Of ternary models, as the three that follow: positions that a session has room for; the model's when absent. */
  context?: number | undefined;
  /** How keys and values are kept; `f32` when absent. `f16` rounds them, which is another model than `f32`. */
  kv?: 'f32' | 'f16' | undefined;
  /** `low`: nothing of an F16 embedding or output table stays in memory. `normal` when absent. */
  memory?: 'normal' | 'low' | undefined;
  /** How activations are rounded (docs/numerics.md, "Ternary products"); `bitnet` when absent. */
  contract?: 'bitnet' | 'hyphae' | undefined;
  /** Of the table that certified and topk scan over F16 output weights: 8 when absent; 4 halves it and has more rows computed again. */
  headBits?: 4 | 8 | undefined;
}

/** What an engine's budget is promised to. */
export interface EngineMemory {
  /** Null: no end. */
  budgetBytes: number | null;
  /** Resident set of the process when the engine was opened. */
  baseBytes: number;
  /** Mapped model files, all their bytes. */
  weightsBytes: number;
  /** Model files in memory of their own, tables made of weights. */
  copiesBytes: number;
  /** What sequences carry, at their longest. */
  sessionsBytes: number;
  /** What computing needs beside. */
  scratchBytes: number;
  /** As much as the caches may hold. */
  prefixCacheBytes: number;
}

export interface NativeEngine {
  readonly isa: string;
  readonly threads: number;
  /** CPUs that the workers keep to, `4-7`; `none` where the system places them. */
  readonly cpus: string;
  readonly loading: Loading;
  readonly activations: Activations;
  /** `count` moves (and wraps) with every pass over the weights; `pending` is how many calls wait for this thread's engines. */
  progress(): { count: number; pending: number };
  openModel(path: string): Promise<NativeModel>;
  memory(): EngineMemory;
  close(): void;
}

/** `i4` has the layout `panel_4x32_i4` and no other; `i8` is never `row_major`. */
export type WeightDtype = 'f32' | 'i8' | 'i4';
export type WeightLayout = 'row_major' | 'panel_4x32' | 'column_major' | 'panel_4x32_i4';

export interface Packed {
  data: Uint8Array;
  /** Padded like the rows; null but for i8. */
  scale: Float32Array | null;
}

export interface Addon {
  /** Called once by native/host: builds the JS error for a row of the error table. */
  setErrorFactory(make: (number: number, message: string) => Error): void;
  build(): BuildInfo;
  isas(): IsaInfo[];
  openEngine(options: EngineOptions): NativeEngine;
  /** JSON text of spiked_file_describe. */
  describeFile(path: string): Promise<string>;
  packedSize(dtype: WeightDtype, layout: WeightLayout, rows: number, cols: number): number;
  /**
   * Synchronous: quantises and packs a row-major block (capi/spiked.h, spiked_pack). `into`, of packedSize bytes at a
   * multiple of 4, becomes the result's data instead of fresh memory.
   */
  pack(
    dtype: WeightDtype,
    layout: WeightLayout,
    source: Float32Array,
    rows: number,
    cols: number,
    into?: Uint8Array,
  ): Packed;
  /**
   * Synchronous: rows `from` to `to` (not included) of a packed [rows, cols] matrix as f32 (capi/spiked.h,
   * spiked_unpack_rows). Fills `into`, of (to - from) * cols values, and returns it. `scale` is null but for i8.
   */
  unpackRows(
    dtype: WeightDtype,
    layout: WeightLayout,
    data: Uint8Array,
    scale: Float32Array | null,
    rows: number,
    cols: number,
    from: number,
    to: number,
    into: Float32Array,
  ): Float32Array;
  selfTest(isa: string, seed: bigint): Promise<SelfTestLine[]>;
  /** GB/s (1e9 bytes), median of rounds. */
  readBandwidth(threads: number, sizeBytes: number, rounds: number): Promise<number>;
  /** Kernels that measureKernel takes. */
  measuredKernels(): string[];
  /** Over `sizeBytes` (at least 1 MiB) of made-up weights; seconds are those that each thread ran. */
  measureKernel(
    isa: string,
    kernel: string,
    threads: number,
    sizeBytes: number,
    rounds: number,
  ): Promise<KernelRate>;
  /** Of the products of these weights and activations, by the wall clock; null where none is known for the ISA. */
  arithmeticPeak(
    isa: string,
    weights: WeightDtype,
    activations: Activations,
    threads: number,
    rounds: number,
  ): Promise<ArithmeticPeak | null>;
  /** Whether a write to the descriptor would not block (up to 4096 bytes of a pipe), now or within waitMs, for which this blocks. */
  writable(fd: number, waitMs: number): boolean;
  /** Who is at the other end of a connected Unix socket: effective ids, and supplementary groups. */
  peerCredentials(fd: number): { pid: number; uid: number; gid: number; groups: number[] };
  /** Sends lines of KEY=VALUE to the service manager at `address` ($NOTIFY_SOCKET); false when nobody took them within a second. */
  notifySystemd(address: string, text: string): boolean;
  /**
   * The path of a descriptor that was handed over, which must be a listening Unix stream socket; `@` begins an abstract name. Children will not
   * inherit it any more.
   */
  listeningSocket(fd: number): string;
  /** The number of a group by its name; null when there is none. */
  groupId(name: string): number | null;
  /** Takes the exclusive lock (flock) of an open file or folder, which ends with its descriptor; false when somebody else holds it. */
  tryLock(fd: number): boolean;
  /**
   * A new pseudo-terminal without echo or line editing: the descriptor of its master, which the caller closes, and the path that others
   * open as a serial port.
   */
  openPty(): { fd: number; path: string };
  /** Bits a second that the other end of a pseudo-terminal set last, by its master; null for one that no meter has. */
  ptyBaud(fd: number): number | null;
}
