import { z } from 'zod';
import type { ErrorCode } from './errors.js';
import * as field from './fields.js';

/**
 * Every method and event, once. The daemon checks parameters against these schemas, the client checks answers, and a test
 * holds docs/protocol.md to them. Keys are the wire's keys. Parameters are strict; answers may grow.
 */

export interface MethodSpec {
  params: z.ZodObject;
  result: z.ZodType;
  /** Beside those that any method may answer with (`commonErrors`). */
  errors: readonly ErrorCode[];
}

/** What any method may answer with. */
export const commonErrors = [
  'ERR_INVALID_ARGUMENT',
  'ERR_RPC_INVALID',
  'ERR_METHOD_UNKNOWN',
  'ERR_BUSY',
  'ERR_SHUTTING_DOWN',
  'ERR_NO_MEMORY',
  'ERR_INTERNAL',
] as const satisfies readonly ErrorCode[];

const modelInfo = z.object({
  architecture: z.string(),
  form: z.string(),
  weights: z.string(),
  name: z.string(),
  data_sha256: z.string(),
  vocab_size: field.count,
  valid_vocab_size: field.count,
  embed_dim: field.count,
  n_layers: field.count,
  n_heads: field.count,
  n_kv_heads: field.count,
  head_dim: field.count,
  ffn_dim: field.count,
  max_context: field.count,
  /** Tokens that a request may reach: max_context unless the daemon was started with --context. */
  context_limit: field.count,
  window: field.count,
  n_anchors: field.count,
  threshold: z.number(),
  leak: z.number(),
  sparse_attn: z.boolean(),
  dynamic_prior: z.boolean(),
  file_size_bytes: field.count,
  n_parameters: field.count,
  tokenizer: z.boolean(),
  /** Null without one. */
  tokenizer_kind: z.enum(['sentencepiece', 'byte_bpe']).nullable(),
  /** Whether it takes `messages`. */
  chat: z.boolean(),
  /** What to know before its answers are trusted: `layout unverified` (docs/model-file.md, "BitNet"). */
  warnings: z.array(z.string()),
});

/** Daemon, build, machine, limits in force, loaded models. */
const serverInfo = {
  params: z.strictObject({}),
  result: z.object({
    name: z.literal('spiked'),
    version: z.string(),
    commit: z.string(),
    protocol_version: field.count,
    model_format_version: field.count,
    numerics_version: field.count,
    isa: z.string(),
    activations: z.enum(['f32', 'i16', 'i8']),
    /** Of ternary models, as the three that follow: how keys and values are kept. */
    kv: z.enum(['f32', 'f16']),
    /** `low`: F16 tables stay on disk. */
    memory: z.enum(['normal', 'low']),
    /** How activations are rounded. */
    contract: z.enum(['bitnet', 'hyphae']),
    /** Of a weight in the first pass of the heads `certified` and `topk`. */
    head_bits: z.literal([4, 8]),
    isas: z.array(z.object({ name: z.string(), supported: z.boolean() })),
    threads: field.count,
    /** CPUs that the threads keep to, `4-7`; `none` where the system places them. */
    cpus: z.string(),
    loading: z.enum(['readahead', 'prefault', 'huge_pages', 'locked']),
    pid: field.count,
    uptime_s: z.number(),
    /** What keeps the cores below their speed (governor, throttling), each with its remedy. */
    warnings: z.array(z.string()),
    methods: z.array(z.string()),
    limits: z.record(z.string(), field.count),
    models: z.array(z.string()),
  }),
  errors: [],
} satisfies MethodSpec;

/**
 * Memory: the resident set, the budget, what of it is promised and to whom. What is promised is asked for before it is allocated, as much as it
 * may come to be; untouched parts of it are not resident.
 */
const serverMemory = {
  params: z.strictObject({}),
  result: z.object({
    rss_bytes: field.count,
    /** Null: no end. */
    budget_bytes: field.count.nullable(),
    /** The sum of those below that say so. */
    reserved_bytes: field.count,
    /** Reserved: the process when the engine started. */
    base_bytes: field.count,
    /** Reserved: mapped model files, whole. */
    weights_bytes: field.count,
    /** Of them: in this process's page table, part of rss_bytes. */
    weights_resident_bytes: field.count,
    /** Of them: locked in memory. */
    weights_locked_bytes: field.count,
    /** Reserved: model files in memory of their own, the certified head's tables. */
    copied_bytes: field.count,
    /** Reserved: what sequences carry, at their longest. */
    session_bytes: field.count,
    /** Reserved: what computing needs beside. */
    scratch_bytes: field.count,
    /** Reserved: as much as the prefix caches may hold. */
    prefix_cache_bytes: field.count,
    /** What they hold. */
    prefix_cache_used_bytes: field.count,
  }),
  errors: [],
} satisfies MethodSpec;

/** What the daemon has done and how it is, in Prometheus' text format; docs/metrics.md has every metric. */
const serverMetrics = {
  params: z.strictObject({}),
  result: z.object({ content_type: z.string(), text: z.string() }),
  errors: [],
} satisfies MethodSpec;

/** Generations under way or waiting, in order of arrival, at most 256 of them; never what they say. */
const serverRequests = {
  params: z.strictObject({}),
  result: z.object({
    active: field.count,
    waiting: field.count,
    requests: z.array(
      z.object({
        /** Of the daemon's log; counts from 1. */
        connection: field.count,
        stream: field.streamId,
        model: z.string(),
        state: z.enum(['waiting', 'prefill', 'decode', 'paused']),
        prompt_tokens: field.count,
        generated_tokens: field.count,
        max_tokens: field.count,
        age_ns: field.count,
      }),
    ),
  }),
  errors: [],
} satisfies MethodSpec;

/** Every model file the daemon may use, sorted by name; `info` for the loaded ones. */
const modelList = {
  params: z.strictObject({}),
  result: z.object({
    models: z.array(
      z.object({
        name: z.string(),
        path: z.string(),
        loaded: z.boolean(),
        default: z.boolean(),
        file_size_bytes: field.count,
        info: modelInfo.optional(),
      }),
    ),
  }),
  errors: ['ERR_FILE_IO'],
} satisfies MethodSpec;

/** Loads a model by name or by a path under the model directories. Loading a loaded model answers at once. */
const modelLoad = {
  params: z.strictObject({ model: field.modelName }),
  result: z.object({ name: z.string(), path: z.string(), info: modelInfo }),
  errors: [
    'ERR_MODEL_NOT_FOUND',
    'ERR_MODEL_FORBIDDEN',
    'ERR_MODEL_INVALID',
    'ERR_MODEL_VERSION',
    'ERR_MODEL_UNSUPPORTED',
    'ERR_MODEL_TENSOR',
    'ERR_MODEL_FILE_CHANGED',
    'ERR_TOKENIZER_INVALID',
    'ERR_RAM_BUDGET',
    'ERR_FILE_NOT_FOUND',
    'ERR_FILE_IO',
  ],
} satisfies MethodSpec;

/** Unloads a model that no request and no session uses; `when_idle`: as soon as none does, and at once for new requests. */
const modelUnload = {
  params: z.strictObject({ model: field.modelName, when_idle: z.boolean().default(false) }),
  result: z.object({ name: z.string(), closed: z.boolean() }),
  errors: ['ERR_MODEL_NOT_FOUND', 'ERR_MODEL_BUSY'],
} satisfies MethodSpec;

/** A conversation that wants a reply to its last message, the user's. Only for models whose form of conversations is known (`chat`). */
const messages = z
  .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
  .min(1)
  .optional();

/** Text to ids; or a conversation as text.generate takes it, `text` or `messages`, exactly one. */
const tokensEncode = {
  params: z.strictObject({
    text: z.string().optional(),
    messages,
    model: field.modelName.optional(),
    bos: z.boolean().default(false),
  }),
  result: z.object({ tokens: z.array(field.tokenId) }),
  errors: [
    'ERR_MODEL_NOT_FOUND',
    'ERR_TOKENIZER_MISSING',
    'ERR_TOKENIZER_INVALID',
    'ERR_TEXT_TOO_LONG',
    'ERR_MODEL_UNSUPPORTED',
  ],
} satisfies MethodSpec;

/** Ids to text; bytes that are no UTF-8 become U+FFFD. */
const tokensDecode = {
  params: z.strictObject({ tokens: z.array(field.tokenId), model: field.modelName.optional() }),
  result: z.object({ text: z.string() }),
  errors: ['ERR_MODEL_NOT_FOUND', 'ERR_TOKENIZER_MISSING', 'ERR_TOKEN_UNKNOWN'],
} satisfies MethodSpec;

/** How the next id is found; docs/numerics.md, "Heads". A key that the mode does not use is ignored. */
const headParams = z.strictObject({
  mode: z.enum(['full', 'scan', 'gate', 'certified', 'topk']).default('full'),
  /** scan: precision of the pass. */
  activations: z.enum(['f32', 'i16', 'i8']).default('i8'),
  /** gate: what the first pass does with i8 activations. */
  scope: z.enum(['projection', 'head']).default('projection'),
  /** gate: rows computed again; topk: in each block of 4,096 rows. */
  k: z.int().min(1).max(4096).default(32),
  /** gate: verify when the gap between the two best scores is below it. */
  threshold: z.number().min(0).max(1e30).default(0.5),
  /** certified: most rows computed exactly before every row is; three eighths of the vocabulary unless given. */
  cap: z.int().min(1).optional(),
  /** Sends a `text.head` event before every token's. */
  trace: z.boolean().default(false),
});

const headNs = {
  projection_ns: field.count,
  prior_ns: field.count,
  selection_ns: field.count,
  verification_ns: field.count,
};

/** What the heads of one generation did, summed over its steps. */
const headResult = z.object({
  /** As asked. */
  mode: z.string(),
  steps: field.count,
  /** Steps that needed every row although another mode was asked: log-probabilities, adaptive temperature. */
  full_steps: field.count,
  triggered: field.count,
  proved: field.count,
  fell_back: field.count,
  /** Computed with f32 activations after the first pass. */
  rows: field.count,
  survivors: field.count,
  /** gate: 100(1 - K/V), what verifying K rows saves against verifying all. */
  row_reduction_percent: z.number().nullable(),
  ...headNs,
  /** Least bytes of weights and tables read. */
  bytes: field.count,
});

/** Most ids that a draft has. */
export const maxDraft = 7;

/**
 * Guesses the next ids from what the text says elsewhere and verifies them in one pass, with the ids that come without; docs/numerics.md,
 * "Drafts". Only at temperature 0. `true` is the longest.
 */
const drafts = z
  .union([z.boolean(), z.strictObject({ max_draft: z.int().min(1).max(maxDraft).default(maxDraft) })])
  .default(false);

/** How ids are drawn, and when that ends. */
const steps = {
  max_tokens: z.int().min(1).default(128),
  timeout_ms: field.durationMs.optional(),
  temperature: z.number().min(0).max(100).default(0.8),
  top_k: z.int().min(0).max(0x7fff_ffff).default(50),
  top_p: z.number().gt(0).max(1).default(0.9),
  repetition_penalty: z.number().min(0.01).max(100).default(1),
  adaptive_temperature: z.boolean().default(false),
  seed: field.seed.optional(),
  stop: field.stops.default([]),
  banned: z.array(field.tokenId).default([]),
  ignore_eos: z.boolean().default(false),
  logprobs: z.boolean().default(false),
  drafts,
};

/** A prompt: `prompt` or `tokens` (or `messages` where a method has them), exactly one. */
const prompt = {
  prompt: z.string().optional(),
  tokens: z.array(field.tokenId).optional(),
};

const head = headParams.default(headParams.parse({}));

const generateResult = z.object({
  stream: field.streamId,
  model: z.string(),
  tokens: z.array(field.tokenId),
  text: z.string(),
  stop_reason: z.enum(['eos', 'stop', 'length', 'cancelled', 'timeout']),
  /** The stop string found, when stop_reason is "stop". */
  stop: z.string().optional(),
  prompt_tokens: field.count,
  generated_tokens: field.count,
  /** Of the prompt: not computed but taken over from an earlier request that began alike, or kept by the session. */
  cached_tokens: field.count,
  seed: field.seed,
  timings: z.object({
    queued_ns: field.count,
    prefill_ns: field.count,
    decode_ns: field.count,
    total_ns: field.count,
  }),
  /** Share of the columns that were active, so had to be read. */
  activity: z.object({ mixer: field.share, ffn: field.share }),
  head: headResult,
  /** What came of drafts; null when none were asked for. */
  drafts: z
    .object({
      /** Over the blocks after the prompt's. */
      passes: field.count,
      /** Of them: without a guess, as nothing alike came before. */
      unmatched: field.count,
      /** Ids guessed, and those of them that were right. */
      proposed: field.count,
      accepted: field.count,
      /** Passes by the number of right ids, from 0 to 7. */
      accepted_lengths: z.array(field.count),
      /** Why nothing was guessed: a temperature above 0, log-probabilities; stop strings, in a session. Null: it could be. */
      off: z.enum(['temperature', 'logprobs', 'stop']).nullable(),
    })
    .nullable(),
});

/**
 * Continues a prompt. `text.token` events come first, in order of `seq`; the answer comes after the last of them.
 *
 * A text prompt gets BOS unless `bos` is false, `tokens` is taken as it is.
 * Sampling: penalty, ban, temperature (0 is greedy), top_k (0 is off), top_p (1 is off), in this order; docs/numerics.md.
 */
const textGenerate = {
  params: z.strictObject({
    stream: field.streamId,
    ...prompt,
    messages,
    model: field.modelName.optional(),
    bos: z.boolean().default(true),
    ...steps,
    head,
  }),
  result: generateResult,
  errors: [
    'ERR_MODEL_NOT_FOUND',
    'ERR_MODEL_FILE_CHANGED',
    'ERR_TOKENIZER_MISSING',
    'ERR_TOKENIZER_INVALID',
    'ERR_TEXT_TOO_LONG',
    'ERR_PROMPT_EMPTY',
    'ERR_TOKEN_UNKNOWN',
    'ERR_CONTEXT_FULL',
    'ERR_MODEL_UNSUPPORTED',
    'ERR_MODEL_INVALID',
    'ERR_RAM_BUDGET',
  ],
} satisfies MethodSpec;

/** Ends a stream of this connection; its request answers with stop_reason "cancelled". False when no such stream is active. */
const textCancel = {
  params: z.strictObject({ stream: field.streamId }),
  result: z.object({ cancelled: z.boolean() }),
  errors: [],
} satisfies MethodSpec;

/** Log-probability (natural) of each id given those before it; the first has none. */
const textScore = {
  params: z.strictObject({
    ...prompt,
    model: field.modelName.optional(),
    bos: z.boolean().default(true),
    timeout_ms: field.durationMs.optional(),
  }),
  result: z.object({
    tokens: z.array(field.tokenId),
    logprobs: z.array(z.number().nullable()),
    total_logprob: z.number(),
    /** exp(-total_logprob / scored ids); null when there is only one id. */
    perplexity: z.number().nullable(),
  }),
  errors: [...textGenerate.errors, 'ERR_CANCELLED', 'ERR_TIMEOUT'],
} satisfies MethodSpec;

/** A text that later requests add to. It belongs to this connection and ends with it, or when nobody used it for a while. */
const sessionOpen = {
  params: z.strictObject({
    model: field.modelName.optional(),
    seed: field.seed.optional(),
    idle_timeout_ms: field.durationMs.optional(),
    head,
  }),
  result: z.object({
    session: field.sessionId,
    model: z.string(),
    seed: field.seed,
    idle_timeout_ms: field.count,
    /** Tokens that its text may reach. */
    context_limit: field.count,
  }),
  errors: ['ERR_MODEL_NOT_FOUND', 'ERR_MODEL_UNSUPPORTED', 'ERR_RAM_BUDGET'],
} satisfies MethodSpec;

/** Adds ids to a session's text and computes them, as many as `timeout_ms` allows. A text gets BOS when it is the session's first, unless `bos` says otherwise. */
const sessionAppend = {
  params: z.strictObject({
    session: field.sessionId,
    ...prompt,
    messages,
    bos: z.boolean().optional(),
    timeout_ms: field.durationMs.optional(),
  }),
  result: z.object({
    session: field.sessionId,
    /** All of them, unless `timed_out`. */
    appended_tokens: field.count,
    /** Of them: taken over from an earlier request that began alike. */
    cached_tokens: field.count,
    /** Ids of the whole text. */
    position: field.count,
    /** The time was up: the first `appended_tokens` ids are part of the text, the others are not. */
    timed_out: z.boolean(),
  }),
  errors: [
    'ERR_SESSION_CLOSED',
    'ERR_MODEL_FILE_CHANGED',
    'ERR_TOKENIZER_MISSING',
    'ERR_TOKENIZER_INVALID',
    'ERR_TEXT_TOO_LONG',
    'ERR_PROMPT_EMPTY',
    'ERR_TOKEN_UNKNOWN',
    'ERR_CONTEXT_FULL',
    'ERR_MODEL_UNSUPPORTED',
    'ERR_CANCELLED',
    'ERR_RAM_BUDGET',
  ],
} satisfies MethodSpec;

/** Continues a session's text as text.generate does with all its ids as `tokens`; what it generates is part of the text. */
const sessionGenerate = {
  params: z.strictObject({
    session: field.sessionId,
    stream: field.streamId,
    ...steps,
    head: headParams.optional(),
  }),
  result: generateResult,
  errors: [
    'ERR_SESSION_CLOSED',
    'ERR_MODEL_FILE_CHANGED',
    'ERR_TOKENIZER_MISSING',
    'ERR_PROMPT_EMPTY',
    'ERR_TOKEN_UNKNOWN',
    'ERR_CONTEXT_FULL',
    'ERR_MODEL_UNSUPPORTED',
    'ERR_MODEL_INVALID',
    'ERR_RAM_BUDGET',
  ],
} satisfies MethodSpec;

/** A second session that goes on from where this one is: text, state, generator, settings. */
const sessionFork = {
  params: z.strictObject({ session: field.sessionId }),
  result: z.object({ session: field.sessionId, position: field.count, seed: field.seed }),
  errors: ['ERR_SESSION_CLOSED', 'ERR_RAM_BUDGET'],
} satisfies MethodSpec;

/** Ends a session, and first what is under way on it. */
const sessionClose = {
  params: z.strictObject({ session: field.sessionId }),
  result: z.object({ session: field.sessionId, position: field.count }),
  errors: ['ERR_SESSION_CLOSED'],
} satisfies MethodSpec;

export const methods = {
  'server.info': serverInfo,
  'server.memory': serverMemory,
  'server.metrics': serverMetrics,
  'server.requests': serverRequests,
  'model.list': modelList,
  'model.load': modelLoad,
  'model.unload': modelUnload,
  'tokens.encode': tokensEncode,
  'tokens.decode': tokensDecode,
  'text.generate': textGenerate,
  'text.cancel': textCancel,
  'text.score': textScore,
  'session.open': sessionOpen,
  'session.append': sessionAppend,
  'session.generate': sessionGenerate,
  'session.fork': sessionFork,
  'session.close': sessionClose,
} as const satisfies Record<string, MethodSpec>;

export type MethodName = keyof typeof methods;

/** What a caller passes: keys with a default may be left out. */
export type Params<M extends MethodName> = z.input<(typeof methods)[M]['params']>;
/** What a method sees: defaults filled in. */
export type FullParams<M extends MethodName> = z.output<(typeof methods)[M]['params']>;
/** What a method answers. */
export type Result<M extends MethodName> = z.output<(typeof methods)[M]['result']>;

export type ModelInfoMessage = z.output<typeof modelInfo>;

/** Notifications from the daemon: one map each. Unknown ones are to be ignored. */
export const events = {
  /**
   * One generated token. `text` never splits a UTF-8 sequence and is withheld while it may become a stop string, so it can be
   * empty and a later event carries the rest; the EOS token's text is empty. `t_ns`: when the id was known.
   */
  'text.token': z.object({
    stream: field.streamId,
    seq: field.count,
    token: field.tokenId,
    text: z.string(),
    t_ns: field.timeNs,
    logprob: z.number().optional(),
  }),
  /** What the head did for the token of the same `seq`, whose event follows; only with `head.trace`. */
  'text.head': z.object({
    stream: field.streamId,
    seq: field.count,
    /** What ran. */
    mode: z.string(),
    /** gate: between the two best scores of the first pass; null when there is only one row. */
    gap: z.number().nullable(),
    triggered: z.boolean(),
    proved: z.boolean(),
    fell_back: z.boolean(),
    rows: field.count,
    survivors: field.count,
    /** gate, topk: best id of the first pass; else as `token`. */
    token_before: field.tokenId,
    token: field.tokenId,
    ...headNs,
    bytes: field.count,
  }),
  /** Nobody used the session for `idle_timeout_ms`: it is closed. */
  'session.expired': z.object({ session: field.sessionId, idle_timeout_ms: field.count }),
  /** The daemon has seen the end of this connection's input; `pending` requests will still be answered, then it closes. */
  'server.input_ended': z.object({ pending: field.count }),
  /** Why the daemon is about to close this connection, when no request can carry the reason. */
  'server.closing': z.object({ error: z.tuple([z.int(), z.string()]) }),
} as const;

export type EventName = keyof typeof events;
export type EventParams<E extends EventName> = z.output<(typeof events)[E]>;
export type TokenEvent = EventParams<'text.token'>;
export type HeadEvent = EventParams<'text.head'>;

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}
