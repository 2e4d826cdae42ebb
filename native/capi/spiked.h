/* spiked engine, C API: the only stable surface of native/. Pure C, no C++ types, no exceptions, no output.
 *
 * Every function that can fail returns a code (0 is success, else a number of native/base/errors.def) and, when `error` is
 * not NULL, fills it. Handles are opaque; a session keeps its model alive, a model its engine, so they may be closed in any order.
 * One engine computes one thing at a time: calls that compute (model_open, forward, sample, score) on sessions of one engine must
 * come from one thread at a time; spiked_session_cancel may come from any thread.
 */
#ifndef SPIKED_H
#define SPIKED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum spiked_code {
  SPIKED_OK = 0,
#define SPIKED_ERROR(number, name, retry, meaning) SPIKED_##name = number,
#include "base/errors.def"
#undef SPIKED_ERROR
};

typedef int32_t spiked_status;

typedef struct spiked_error {
  int32_t code;
  char message[512]; /* one sentence: the thing, what was expected, what was found */
} spiked_error;

typedef struct spiked_engine spiked_engine;
typedef struct spiked_model spiked_model;
typedef struct spiked_session spiked_session;

/* ---- build and machine ---- */

typedef struct spiked_build {
  const char* version;           /* product version */
  const char* commit;            /* git commit or "unknown" */
  const char* compiler;          /* name and version */
  uint32_t numerics_version;     /* docs/numerics.md */
  uint32_t model_format_version; /* docs/model-file.md */
} spiked_build;

void spiked_build_info(spiked_build* out);

/* The i-th known ISA, best first; NULL past the end. *supported: compiled in and present on this CPU. */
const char* spiked_isa(size_t i, int32_t* supported);

/* Read bandwidth of `n_threads` pinned threads over `size_bytes` of fresh memory, in GB/s (1e9): the median of `rounds` passes. Blocks. */
spiked_status spiked_read_bandwidth(uint32_t n_threads, size_t size_bytes, uint32_t rounds, double* gb_per_s,
                                    spiked_error* error);

/* Least, middle and most of a measurement's rounds. */
typedef struct spiked_spread {
  double median, min, max;
} spiked_spread;

/* The i-th kernel that can be measured; NULL past the end. */
const char* spiked_measured_kernel(size_t i);

/* What one kernel reaches, each quantity taken in turn with what it is compared to; seconds are those that each thread ran. */
typedef struct spiked_kernel_rate {
  uint64_t bytes;         /* least that one run over the large weights has to read */
  spiked_spread gb_per_s; /* 1e9 bytes, by the kernel for one token */
  spiked_spread read_gb_per_s,
      read_share;        /* plain reads of the same memory by the same threads; the kernel's share of that */
  uint64_t tokens, macs; /* of a batch over weights that fit a cache; 0 for a kernel without batches */
  spiked_spread gmac_per_s;                  /* 1e9 multiply-adds, by the kernel for that batch */
  spiked_spread peak_gmac_per_s, peak_share; /* as spiked_arithmetic_peak; the kernel's share of that */
  const char* peak_instructions;             /* NULL where no peak is known */
} spiked_kernel_rate;

/* Measures a kernel over `size_bytes` (at least 1 MiB) of made-up weights. `isa` NULL: the best of this CPU. Blocks.
 * Errors: ISA_UNSUPPORTED, INVALID_ARGUMENT, NO_MEMORY. */
spiked_status spiked_measure_kernel(const char* isa, const char* kernel, uint32_t n_threads,
                                    size_t size_bytes, uint32_t rounds, spiked_kernel_rate* out,
                                    spiked_error* error);

/* What `n_threads` reach, by the wall clock, of the multiply-adds that a dense product is made of: registers alone, no loads. `dtype` of the
 * weights (enum spiked_dtype), `activations` (enum spiked_activations). *instructions is one link of the chain that was run, NULL where no peak
 * is known for the ISA, and nothing was measured. Blocks. Errors: ISA_UNSUPPORTED, INVALID_ARGUMENT. */
spiked_status spiked_arithmetic_peak(const char* isa, int32_t dtype, int32_t activations, uint32_t n_threads,
                                     uint32_t rounds, spiked_spread* gmac_per_s, const char** instructions,
                                     spiked_error* error);

/* Runs every kernel of `isa` against scalar over sizes, alignments and extremes with guard bytes, and checks that planted faults
 * are caught. `report` gets one line a kernel. Returns SPIKED_ERR_CHECK_FAILED when a kernel differs. */
typedef void (*spiked_report)(void* user, const char* kernel, uint64_t cases, uint64_t failures,
                              const char* detail);
spiked_status spiked_self_test(const char* isa, uint64_t seed, spiked_report report, void* user,
                               spiked_error* error);

/* ---- engine ---- */

enum spiked_activations { SPIKED_ACTIVATIONS_F32 = 0, SPIKED_ACTIVATIONS_I8 = 1, SPIKED_ACTIVATIONS_I16 = 2 };

/* How keys and values are kept: F16 rounds them, which is another model than F32's. */
enum spiked_kv { SPIKED_KV_F32 = 0, SPIKED_KV_F16 = 1 };
/* LOW: nothing of an F16 embedding or output table stays in memory; its rows are read from the file when they are needed. */
enum spiked_memory_mode { SPIKED_MEMORY_NORMAL = 0, SPIKED_MEMORY_LOW = 1 };
/* How a ternary model's activations are rounded (docs/numerics.md, "Ternary products"). */
enum spiked_contract { SPIKED_CONTRACT_BITNET = 0, SPIKED_CONTRACT_HYPHAE = 1 };

/* How a model's file comes into memory: mapped, and read some MB at a time as it is used; mapped, and read before spiked_model_open
 * returns; or copied into huge pages, where the kernel gives them. */
enum spiked_loading {
  SPIKED_LOADING_READAHEAD = 0,
  SPIKED_LOADING_PREFAULT = 1,
  SPIKED_LOADING_HUGE_PAGES = 2,
  SPIKED_LOADING_LOCKED = 3 /* as PREFAULT, and kept there: RLIMIT_MEMLOCK has to allow it */
};

typedef struct spiked_engine_options {
  uint32_t n_threads; /* 1..256; 0: as many as `cpus` names, or as there are big cores */
  const char* isa;    /* NULL: SPIKED_FORCE_ISA when set, else the best */
  /* of the blocks' dense products: SPIKED_ACTIVATIONS_F32 (the reference), _I16 (close to it) or _I8 (fast, coarse); the quantised ones
   * need quantised weights */
  int32_t activations;
  /* CPUs of the workers: NULL keeps them to the big cores where cores differ (and the next fastest, when there are more threads); a list such as
   * "4-7" to these; "none" leaves them to the system */
  const char* cpus;
  int32_t loading; /* enum spiked_loading */
  /* Of each model: what prompts before left behind, taken over by sequences that begin alike, in steps of 32 ids. 0: none. The bits are
   * the same; other callers' prompts show in the time. */
  uint64_t prefix_cache_bytes;
  /* That the process may come to hold with this engine's models and sessions; 0: no end. What would cross it ends with SPIKED_ERR_RAM_BUDGET,
   * before it allocates: the engine itself, when the process holds more already, a model, a session, a head's tables. */
  uint64_t ram_budget_bytes;
  /* Of ternary models (others refuse them): */
  uint32_t context; /* positions that a session has room for; 0: the model's */
  int32_t kv;       /* enum spiked_kv */
  int32_t memory;   /* enum spiked_memory_mode */
  int32_t contract; /* enum spiked_contract */
  /* Of the table that CERTIFIED and TOPK scan over F16 output weights: 8, or 4 for half the memory and more rows computed again; 0: 8. */
  uint32_t head_bits;
} spiked_engine_options;

spiked_status spiked_engine_open(const spiked_engine_options* options, spiked_engine** out,
                                 spiked_error* error);
void spiked_engine_close(spiked_engine* engine);
const char* spiked_engine_isa(const spiked_engine* engine);
uint32_t spiked_engine_threads(const spiked_engine* engine);
/* The CPUs that the workers keep to, "4-7"; "none" where the system places them. */
const char* spiked_engine_cpus(const spiked_engine* engine);
/* Keeps the calling thread, which should do nothing but compute with this engine, to the CPUs of its workers: whoever calls is one of them.
 * Without this it runs wherever it may. */
spiked_status spiked_engine_own_thread(const spiked_engine* engine, spiked_error* error);
int32_t spiked_engine_activations(const spiked_engine* engine);
/* A count (it wraps) that moves with every pass over the weights and every head: whether a call that computes gets anywhere. Any thread. */
uint32_t spiked_engine_progress(const spiked_engine* engine);

/* What an engine's budget is promised to, in bytes. */
typedef struct spiked_memory {
  uint64_t budget;       /* 0: no end */
  uint64_t base;         /* resident set of the process when the engine was opened */
  uint64_t weights;      /* mapped model files, all their bytes */
  uint64_t copies;       /* model files in memory of their own, tables made of weights */
  uint64_t sessions;     /* what sequences carry, at their longest */
  uint64_t scratch;      /* what computing needs beside */
  uint64_t prefix_cache; /* as much as the caches may hold */
} spiked_memory;
void spiked_engine_get_memory(const spiked_engine* engine, spiked_memory* out);

/* ---- files ---- */

/* For the whole process, from now on: a mapped file that shrinks, or whose disk fails, no longer ends it with SIGBUS. What computes with the
 * model ends with SPIKED_ERR_MODEL_FILE_CHANGED; other signals of that number go to the handler that was there before. Once is enough. */
spiked_status spiked_catch_lost_pages(spiked_error* error);

/* Strictly parses any GGUF file and hands its description to `emit` as one JSON text:
 * {"version", "alignment", "data_offset", "size_bytes", "metadata": [{"key","type","value"} or, for arrays longer than 64,
 *  {"key","type","element_type","length","offset_bytes"}], "tensors": [{"name","type","dims","offset_bytes","size_bytes"}]}
 * (offset_bytes are absolute in the file). */
typedef void (*spiked_emit)(void* user, const char* text, size_t length);
spiked_status spiked_file_describe(const char* path, spiked_emit emit, void* user, spiked_error* error);

/* I4 has PANEL_4X32_I4 and no other layout; I8 is never ROW_MAJOR. */
enum spiked_dtype { SPIKED_F32 = 0, SPIKED_I8 = 24, SPIKED_I4 = 1004 };
enum spiked_layout {
  SPIKED_ROW_MAJOR = 0,
  SPIKED_PANEL_4X32 = 1,
  SPIKED_COLUMN_MAJOR = 2,
  SPIKED_PANEL_4X32_I4 = 3
};

/* Bytes that spiked_pack writes for `rows` x `cols`, 0 for a type in a layout that it does not have; *scale_floats: f32 values of the scale
 * (0 but for I8). */
size_t spiked_packed_size(int32_t dtype, int32_t layout, size_t rows, size_t cols, size_t* scale_floats);

/* Quantises (I8, I4) and packs the row-major f32 matrix `w` [rows, cols] as docs/model-file.md says. For the two panel layouts the caller may go
 * through a matrix in blocks whose row counts are multiples of 4 (the last one excepted) and concatenate the outputs. `scale` may be NULL but for I8.
 * Errors: SPIKED_ERR_CHECKPOINT_TENSOR when a value is not finite, or too large for I4's f16 scale (the message names row and column). */
spiked_status spiked_pack(int32_t dtype, int32_t layout, const float* w, size_t rows, size_t cols, void* out,
                          float* scale, spiked_error* error);

/* The inverse: rows [row_begin, row_end) of what spiked_pack wrote for `rows` x `cols`, as the f32 values it stands for: those stored, or
 * f32(code * scale). out: f32 [row_end - row_begin, cols]. `scale` may be NULL but for I8. Errors: SPIKED_ERR_INVALID_ARGUMENT. */
spiked_status spiked_unpack_rows(int32_t dtype, int32_t layout, const void* data, const float* scale,
                                 size_t rows, size_t cols, size_t row_begin, size_t row_end, float* out,
                                 spiked_error* error);

/* ---- model ---- */

typedef struct spiked_model_info {
  char architecture[32];
  char form[16];        /* "0.8b" | "194m"; ternary models: "" */
  char weights[16];     /* "f32" | "int8" | "int4mix" | "i2_s" */
  char layout_plan[16]; /* "mixed" | "row" | "column"; ternary models: "" */
  char name[128];
  char data_sha256[65]; /* as declared in the file; ternary models: "" */
  uint32_t vocab_size, valid_vocab_size, embed_dim, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim;
  uint32_t max_context, window, n_anchors;
  float threshold, leak;
  int32_t sparse_attn, dynamic_prior;
  uint64_t file_size_bytes;
  uint64_t n_parameters;
  /* least bytes that a pass over the blocks reads whatever the activity, and that each active input of a sparse projection adds */
  uint64_t dense_bytes, column_bytes;
  /* raw SentencePiece model in the file; size 0: none */
  uint64_t tokenizer_offset_bytes, tokenizer_size_bytes;
} spiked_model_info;

spiked_status spiked_model_open(spiked_engine* engine, const char* path, spiked_model** out,
                                spiked_error* error);
void spiked_model_close(spiked_model* model);
void spiked_model_get_info(const spiked_model* model, spiked_model_info* out);
/* Whether the model's file, if it is mapped, is still as it was opened: every call that computes with the model asks the same before it gives a
 * result. Errors: MODEL_FILE_CHANGED, for good once it was found. */
spiked_status spiked_model_check_file(const spiked_model* model, spiked_error* error);
/* Of the model's mapped file: bytes in this process's page table, and those of them that are locked. A copy has 0. Takes milliseconds. */
void spiked_model_get_mapped(const spiked_model* model, uint64_t* resident_bytes, uint64_t* locked_bytes);
/* Bytes that the model's prefix cache holds now. */
uint64_t spiked_model_prefix_cache_bytes(const spiked_model* model);

/* ---- session: one sequence ---- */

spiked_status spiked_session_open(spiked_model* model, spiked_session** out, spiked_error* error);
void spiked_session_close(spiked_session* session);
/* A session that goes on from where `session` is as that one would: state, history and generator are copies. */
spiked_status spiked_session_fork(const spiked_session* session, spiked_session** out, spiked_error* error);
/* Forgets everything: position 0, zero state. */
spiked_status spiked_session_reset(spiked_session* session, spiked_error* error);
/* Any thread: the running or next forward ends with SPIKED_ERR_CANCELLED within one layer's time; reset clears it. After a cancelled
 * forward the session must be reset. */
void spiked_session_cancel(spiked_session* session);

enum spiked_logits { SPIKED_LOGITS_NONE = 0, SPIKED_LOGITS_LAST = 1, SPIKED_LOGITS_ALL = 2 };

/* What every threshold of n ids said, a byte each: 0 silent, 1 fired, whatever decisions were given. Any pointer may be NULL. F = ffn_dim. */
typedef struct spiked_spikes {
  uint8_t* encoder; /* [n, D] */
  uint8_t* ffn;     /* [L, n, F] */
  uint8_t* block;   /* [L, n, D] after each block; the last layer's feed nothing */
} spiked_spikes;

/* Decisions used in place of a pass's own, of the same shapes: 0, 1, or SPIKED_SPIKE_FREE for the pass's own. NULL: all free. */
enum { SPIKED_SPIKE_FREE = 2 };
typedef struct spiked_given_spikes {
  const uint8_t *encoder, *ffn, *block;
} spiked_given_spikes;

/* What the quantiser of a ternary model made of n positions. Any pointer may be NULL. A = n_heads * head_dim. */
typedef struct spiked_ternary_codes {
  int8_t* attn_in;  /* [L, n, D] into q, k and v */
  int8_t* attn_out; /* [L, n, A] into attn_output */
  int8_t* ffn_in;   /* [L, n, D] into gate and up */
  int8_t* ffn_down; /* [L, n, F] into down */
  float* absmax;    /* [L, 4, n] largest magnitude of those four rows, before any floor */
} spiked_ternary_codes;

/* What a checking caller may record of one forward of n ids. Any pointer may be NULL. L = n_layers, D = embed_dim. */
typedef struct spiked_trace {
  int32_t* active_encoder; /* [n] */
  int32_t* active_mixer;   /* [L, n]: active inputs of tcam_proj */
  int32_t* active_ffn;     /* [L, n]: active inputs of ffn.down */
  float* block_out;        /* [L, n, D] residual stream after each block */
  /* smallest |z - threshold| seen; set to +inf by the caller first */
  float margin_encoder, margin_mixer, margin_ffn;
  spiked_spikes spikes;
  float* dense_inputs;       /* [L, 3, n, D] inputs of q/k/v, of out, of up, before they are quantised */
  spiked_given_spikes given; /* input: this forward's decisions */
  /* ternary models */
  spiked_ternary_codes codes;
  float* final_norm; /* [n, D] what the head reads */
} spiked_trace;

/* Feeds n ids (prefill or decode: the same bits for any split). logits: f32 [vocab_size] for LAST, [n, vocab_size] for ALL, raw (unmasked).
 * Errors: TOKEN_UNKNOWN, PROMPT_EMPTY (n = 0), CANCELLED, NO_MEMORY. The context limit is not enforced here. */
spiked_status spiked_session_forward(spiked_session* session, const int32_t* ids, size_t n,
                                     int32_t logits_mode, float* logits, spiked_trace* trace,
                                     spiked_error* error);

/* The same model in plain float64 arithmetic over the numbers that the weights stand for exactly, from the paper's equations: what the
 * engine's precisions are held to (docs/numerics.md, "Spike flips"). */
typedef struct spiked_reference_input {
  spiked_given_spikes given;
  int32_t activations; /* F32: exact inputs of the blocks' dense products; others: dense_inputs, quantised */
  const float* dense_inputs; /* [L, 3, n, D] of a forward of these ids; NULL with F32 and only then */
} spiked_reference_input;

typedef struct spiked_reference_output { /* any pointer may be NULL */
  spiked_spikes spikes;
  double *margin_encoder, *margin_ffn, *margin_block; /* z - threshold, shapes as the spikes' */
  double* logits;                                     /* [n, vocab_size] */
} spiked_reference_output;

/* Runs it over n ids as a sequence of its own; the session's state is neither read nor written, spiked_session_cancel ends it. Slow.
 * Errors: TOKEN_UNKNOWN, PROMPT_EMPTY, INVALID_ARGUMENT, CANCELLED, NO_MEMORY. */
spiked_status spiked_session_reference(spiked_session* session, const int32_t* ids, size_t n,
                                       const spiked_reference_input* input,
                                       const spiked_reference_output* output, spiked_error* error);

typedef struct spiked_sampling {
  float temperature;        /* 0: greedy */
  int32_t top_k;            /* 0: off */
  float top_p;              /* 1: off */
  float repetition_penalty; /* 1: off */
  int32_t adaptive_temperature;
  uint32_t
      valid_vocab_size; /* ids at or beyond it are masked; 0, or anything larger than the model's: the model's */
  const int32_t* banned;
  size_t n_banned;
} spiked_sampling;

/* Starts the generator of spiked_session_sample (SplitMix64). */
void spiked_session_seed(spiked_session* session, uint64_t seed);

/* Draws the next id from the logits of the last forward (mode LAST or ALL, or NONE: they are kept inside whenever the last position's head ran).
 * History for the penalty is every id fed so far. The id is not fed. *t_ns: CLOCK_MONOTONIC when the id was known. *logprob: natural log of its
 * probability under the unscaled masked softmax (temperature 1, no penalty). Both may be NULL. */
spiked_status spiked_session_sample(spiked_session* session, const spiked_sampling* sampling, int32_t* id,
                                    float* logprob, uint64_t* t_ns, spiked_error* error);

/* ---- heads: how the next id is found (docs/numerics.md, "Heads") ---- */

enum spiked_head_mode {
  SPIKED_HEAD_FULL = 0, /* every row, f32 activations: the reference */
  SPIKED_HEAD_SCAN = 1, /* every row, quantised activations, unverified */
  SPIKED_HEAD_GATE =
      2, /* i8 scan; the k best rows again with f32 activations when the top-two gap is below the threshold */
  SPIKED_HEAD_CERTIFIED =
      3, /* scan of few bits with bounds; rows that could still win exactly: the id is always FULL's */
  SPIKED_HEAD_TOPK = 4 /* F16 weights: int8 scan, the k best rows of every 4,096 exactly; unproved */
};
enum spiked_head_scope { SPIKED_SCOPE_PROJECTION = 0, SPIKED_SCOPE_HEAD = 1 };

typedef struct spiked_head {
  int32_t mode;
  int32_t activations; /* SCAN: enum spiked_activations */
  int32_t
      scope; /* GATE: what the scan does with i8 activations, the output projection or the prior branch too */
  uint32_t k;      /* GATE, TOPK: 1 .. min(vocab_size, 4096) */
  float threshold; /* GATE: at least 0; a gap is below +infinity always */
  uint32_t
      cap; /* CERTIFIED: most rows computed exactly before every row is; 0: three eighths of vocab_size */
} spiked_head;

typedef struct spiked_head_step {
  int32_t
      mode; /* what ran: FULL where the request needs every row (log-probability, adaptive temperature; CERTIFIED, TOPK: sampling without top_k) */
  int32_t triggered;  /* GATE */
  int32_t proved;     /* the id is FULL's, by proof or because every row was computed exactly */
  int32_t fell_back;  /* CERTIFIED: more survivors than cap, so every row was computed */
  float gap;          /* GATE: between the scan's two best scores, masks and penalty applied */
  uint32_t rows;      /* computed with f32 activations after the scan (FULL: all) */
  uint32_t survivors; /* CERTIFIED: rows that could still win */
  int32_t id_before;  /* GATE, TOPK: the scan's best id; else the id drawn */
  uint64_t projection_ns, prior_ns, selection_ns, verification_ns; /* FULL: all in verification_ns */
  uint64_t bytes; /* least bytes of weights and tables that the step read */
} spiked_head_step;

/* Whether a model can serve a head. Errors: INVALID_ARGUMENT (a setting out of range), MODEL_UNSUPPORTED (these weights cannot). */
spiked_status spiked_model_check_head(const spiked_model* model, const spiked_head* head,
                                      spiked_error* error);

/* Runs a head (NULL: FULL) on the last position and draws the next id; the id is not fed. *logprob as in spiked_session_sample; NULL: not
 * wanted. `step` and `t_ns` may be NULL. The first CERTIFIED or TOPK step of a model makes its tables, which takes the time of some hundred tokens.
 * Errors: INVALID_ARGUMENT (before any forward; a setting out of range), MODEL_UNSUPPORTED (the mode cannot be served by these weights),
 * MODEL_INVALID (a value is not finite), RAM_BUDGET (the tables); FILE_IO, MODEL_FILE_CHANGED (rows read in low memory mode). */
spiked_status spiked_session_next(spiked_session* session, const spiked_sampling* sampling,
                                  const spiked_head* head, int32_t* id, float* logprob, uint64_t* t_ns,
                                  spiked_head_step* step, spiked_error* error);

typedef struct spiked_session_stats {
  uint64_t position;                 /* ids fed */
  uint64_t mixer_active, ffn_active; /* active columns read so far, all layers */
  uint64_t mixer_total, ffn_total;   /* columns there were */
  uint64_t
      bytes_touched; /* least bytes that the last forward had to read: dense weights, active columns, head, once each; embedding rows, norms, scales */
  uint64_t
      kv_bytes_touched; /* least bytes of keys and values that it had to read: of each pass's position that sees most */
  uint64_t state_bytes;      /* the state: keys and values, decay state, membrane */
  uint64_t cached_positions; /* of position: taken over from the prefix cache instead of computed */
  uint64_t batch;            /* sequences that the last pass computed together */
} spiked_session_stats;

/* One id that a step drew, and the session as it was then. Of a step that drew several, the first has the bytes of their pass; they all were
 * known at once. */
typedef struct spiked_drawn {
  int32_t id;
  float logprob; /* only when wanted */
  uint64_t t_ns;
  spiked_head_step head_step;
  spiked_session_stats stats;
} spiked_drawn;

/* Most sessions that step together, and most ids that a step may guess. */
enum { SPIKED_MAX_JOINT = 32, SPIKED_MAX_DRAFT = 7 };

/* One session's step among others: feeds an id, draws the next one. */
typedef struct spiked_joint_step {
  spiked_session* session;
  int32_t fed;
  const spiked_sampling* sampling;
  const spiked_head* head;
  int32_t want_logprob;
  /* Ids to guess from what the session's text says elsewhere, and to verify in the same pass (docs/numerics.md, "Drafts"): the step then draws
   * up to max_draft + 1 ids, and leaves the session as that many steps without would. At most SPIKED_MAX_DRAFT; taken as 0 unless the
   * temperature is 0 and no log-probability is wanted. */
  uint32_t max_draft;
  const int32_t* stop_ids; /* a step ends with any of these */
  size_t n_stop_ids;
  spiked_drawn* drawn; /* out: room for max_draft + 1 */
  /* out */
  size_t n_drawn;     /* ids drawn before the error, if there is one */
  uint32_t n_guessed; /* ids that were verified: n_drawn - 1 of them were right */
  spiked_error error; /* this session's own: code 0 where it went well */
} spiked_joint_step;

/* A step of n different sessions of one model (spiked_session_group) as one pass, which reads the weights once for all. Each session's bits
 * and ids are those of spiked_session_forward and spiked_session_next on it alone. spiked_session_cancel is heeded before the pass, in it only
 * where n is 1. Errors: INVALID_ARGUMENT (n, a max_draft, sessions that may not step together); a session's own are in its step. */
spiked_status spiked_sessions_step(spiked_joint_step* steps, size_t n, spiked_error* error);
/* Equal for sessions that may step together; not to be dereferenced. */
const void* spiked_session_group(const spiked_session* session);

/* The same as spiked_session_next for a hidden state of the caller's, f32 [embed_dim]: what a head would answer there. */
spiked_status spiked_session_choose(spiked_session* session, const float* hidden,
                                    const spiked_sampling* sampling, const spiked_head* head, int32_t* id,
                                    spiked_head_step* step, spiked_error* error);

/* The distribution that spiked_session_sample would draw from, sorted by probability descending, id ascending; *n: in capacity, out count.
 * Greedy gives one id with probability 1. */
typedef struct spiked_probability {
  int32_t id;
  float probability;
} spiked_probability;
spiked_status spiked_session_probabilities(spiked_session* session, const spiked_sampling* sampling,
                                           spiked_probability* out, size_t* n, spiked_error* error);

/* logprobs[i] = log p(ids[i] | ids[0..i)) for i in [1, n), masked softmax at temperature 1; logprobs[0] = 0. From a fresh (reset) session,
 * one pass a call: *at, 0 at first, moves on, and the last call leaves it at n; every call gets the same arguments.
 * masked_mass, unless NULL: [i] is the probability that the slots without a token would have had together at that place under the softmax of all
 * slots; [0] = 0. Both f64 [n], the same bits on every ISA and thread count. */
spiked_status spiked_session_score_pass(spiked_session* session, const int32_t* ids, size_t n, size_t* at,
                                        double* logprobs, double* masked_mass, spiked_error* error);

void spiked_session_get_stats(const spiked_session* session, spiked_session_stats* out);

/* Nanoseconds of the calling worker by operation ("projections", "barriers", ...) since profiling was switched on or last read. Off at first;
 * on, it costs some microseconds a token. read: *n is in capacity, out count; it starts from zero again. */
typedef struct spiked_profile_entry {
  const char* operation;
  uint64_t ns;
} spiked_profile_entry;
void spiked_session_set_profile(spiked_session* session, int32_t on);
spiked_status spiked_session_read_profile(spiked_session* session, spiked_profile_entry* out, size_t* n,
                                          spiked_error* error);

/* State: membrane f32 [D]; decay f32 [L, D]; the positions whose keys are kept (ascending; *n: in capacity, out count). */
spiked_status spiked_session_membrane(const spiked_session* session, float* out, spiked_error* error);
spiked_status spiked_session_decay(const spiked_session* session, float* out, spiked_error* error);
spiked_status spiked_session_kv_positions(const spiked_session* session, int32_t* out, size_t* n,
                                          spiked_error* error);

#ifdef __cplusplus
}
#endif
#endif
