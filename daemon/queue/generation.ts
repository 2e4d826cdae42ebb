import {
  SpikedError,
  type FullParams,
  type HeadEvent,
  type Result,
  type TokenEvent,
} from '../../client/protocol/index.js';
import {
  generatedSteps,
  type GeneratedStep,
  type NativeSession,
  type Sampling,
  type SessionStats,
} from '../../native/host/index.js';
import type { Counts } from '../metrics/counts.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { DraftTotals } from '../text/draft-totals.js';
import { HeadTotals, headEvent } from '../text/head-totals.js';
import { StopMatcher } from '../text/stop-matcher.js';
import { TokenText } from '../text/token-text.js';
import type { Job, Scheduler } from './scheduler.js';
import type { Aftermath, Sequence } from './sequence.js';

type GenerateResult = Result<'text.generate'>;
type Progress = Result<'server.requests'>['requests'][number];
type StopReason = GenerateResult['stop_reason'];
type Interruption = 'cancelled' | 'timeout';

/** Ids of a prompt that one turn may feed, a pass of the engine: a long prompt must not keep the others waiting. */
export const prefillChunk = 32;
/** What each draw adds to the generator's state (SplitMix64, docs/numerics.md), which is its seed at first. */
const drawStep = 0x9e3779b97f4a7c15n;

/** What a generation needs from the connection that asked for it. */
export interface Listener {
  /** False while it has too much unread. */
  ready(): boolean;
  /** What is told meanwhile leaves in one piece. */
  together(work: () => void): void;
  token(event: TokenEvent): void;
  head(event: HeadEvent): void;
}

export interface GenerationSetup {
  /** Number of the connection that asked. */
  connection: number;
  params: Pick<
    FullParams<'text.generate'>,
    keyof FullParams<'session.generate'> & keyof FullParams<'text.generate'>
  >;
  owner: object;
  model: LoadedModel;
  sequence: Sequence;
  /** The prompt's ids, once they have passed their checks. Called when there is room in the queue. */
  readPrompt: () => Promise<Int32Array>;
  seed: bigint;
  listener: Listener;
  scheduler: Scheduler;
  counts: Counts;
}

/**
 * One text.generate or session.generate from its place in the queue to its summary.
 *
 * The engine may be some steps ahead of what was told. That shows nowhere: a generation consists of the steps that were accepted. What
 * came after them is dropped with a sequence that serves no other. Where a sequence goes on nothing may come after them: a
 * generation that is interrupted still accepts the steps that the engine has taken, and one with stop strings lets it take one at a time.
 */
export class Generation implements Job {
  readonly result: Promise<GenerateResult>;
  private resolve: (result: GenerateResult) => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;

  private prompt: Int32Array | null = null;
  private fed = 0;
  private session: NativeSession | null = null;
  private working = false;
  private over = false;
  private timer: NodeJS.Timeout | undefined;
  /** What ends it once the engine's call has ended; only where the sequence goes on. */
  private interrupted: Interruption | null = null;
  private ended: { reason: StopReason; stop: string | undefined } | null = null;
  /** Ids that the sequence had when this began. */
  private kept = 0;
  /** Of the session: then, and after the last step that was accepted. */
  private before: SessionStats | null = null;
  private stats: SessionStats | null = null;
  /** Steps that the engine took before it heard that the reader is behind. */
  private held: GeneratedStep[] = [];
  private readonly tokens: number[] = [];
  private text = '';
  private tokenText: TokenText | null = null;
  private readonly matcher: StopMatcher;
  private readonly sampling: Sampling;
  private readonly heads: HeadTotals;
  private readonly drafts: DraftTotals;
  private readonly arrivedNs = process.hrtime.bigint();
  private startedNs: bigint | null = null;
  private firstTokenNs: bigint | null = null;
  private lastTokenNs: bigint | null = null;

  constructor(private readonly setup: GenerationSetup) {
    const { params } = setup;
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.matcher = new StopMatcher(params.stop);
    this.heads = new HeadTotals(params.head, setup.model.native.info.vocabSize);
    this.drafts = new DraftTotals(params, setup.sequence.goesOn);
    this.sampling = {
      temperature: params.temperature,
      topK: params.top_k,
      topP: params.top_p,
      repetitionPenalty: params.repetition_penalty,
      adaptiveTemperature: params.adaptive_temperature,
      bannedIds: Int32Array.from(params.banned),
    };
  }

  get owner(): object {
    return this.setup.owner;
  }

  /** Enters the queue. Whatever goes wrong is told by `result`. */
  submit(): void {
    const { scheduler, model, params } = this.setup;
    model.acquire();
    try {
      scheduler.submit(this);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (params.timeout_ms !== undefined)
      this.timer = setTimeout(() => this.interrupt('timeout'), params.timeout_ms);
    this.setup.readPrompt().then(
      (ids) => {
        this.prompt = ids;
        this.tokenText = new TokenText(model, ids);
        scheduler.wake();
      },
      (error: unknown) => {
        this.fail(error);
      },
    );
  }

  ready(): boolean {
    return this.prompt !== null && this.setup.listener.ready();
  }

  stalled(): boolean {
    return !this.setup.listener.ready();
  }

  async run(): Promise<boolean> {
    this.working = true;
    try {
      while (!this.over && !this.ended && !this.interrupted && this.ready()) await this.advance();
      if (this.ended ?? this.interrupted) this.conclude();
    } catch (error) {
      this.fail(error);
    }
    this.working = false;
    return this.over;
  }

  cancel(): void {
    this.interrupt('cancelled');
  }

  /** How far it is. */
  progress(): Progress {
    const { params, model, connection } = this.setup;
    return {
      connection,
      stream: params.stream,
      model: model.name,
      state: this.state(),
      prompt_tokens: this.prompt?.length ?? 0,
      generated_tokens: this.tokens.length,
      max_tokens: params.max_tokens,
      age_ns: Number(process.hrtime.bigint() - this.arrivedNs),
    };
  }

  private state(): Progress['state'] {
    if (this.startedNs === null) return 'waiting';
    if (this.stalled()) return 'paused';
    return this.firstTokenNs === null ? 'prefill' : 'decode';
  }

  /** Tokens that it may have. */
  private get most(): number {
    const { params, model } = this.setup;
    return Math.min(params.max_tokens, model.contextLimit - (this.prompt?.length ?? 0));
  }

  private async advance(): Promise<void> {
    if (this.held.length > 0) {
      this.take(this.held.splice(0));
      return;
    }
    const { params, model } = this.setup;
    const prompt = this.prompt ?? new Int32Array();
    if (this.session === null) await this.begin();
    const { session } = this;
    if (session === null) return;
    const left = prompt.length - this.fed;
    if (left > prefillChunk) {
      await session.forward(prompt.subarray(this.fed, this.fed + prefillChunk), { logits: 'none' });
      this.fed += prefillChunk;
      if (this.over) return;
      const stats = session.stats();
      this.setup.counts.fed(this.stats, stats);
      this.stats = stats;
      return;
    }
    const ids = left > 0 ? prompt.subarray(this.fed) : Int32Array.of(this.tokens.at(-1) ?? 0);
    this.fed = prompt.length;
    const oneByOne = this.setup.sequence.goesOn && params.stop.length > 0;
    const options = {
      head: params.head,
      logprob: params.logprobs,
      maxTokens: oneByOne ? 1 : this.most - this.tokens.length,
      stopIds: Int32Array.from(params.ignore_eos ? [] : model.stopIds),
      maxDraft: this.drafts.maxDraft,
    };
    await session.generate(ids, this.sampling, options, (rows, n) => {
      try {
        this.take(generatedSteps(rows, n));
      } catch (error) {
        // Nobody above this call could tell the client.
        this.fail(error);
      }
    });
  }

  /** Opens the session. What was cancelled holds its memory until the engine has left its step: without room, this waits for that. */
  private async begin(): Promise<void> {
    const { sequence, scheduler } = this.setup;
    while (!this.over && !this.interrupted) {
      try {
        this.start(sequence.begin());
        return;
      } catch (error) {
        const isFull = error instanceof SpikedError && error.code === 'ERR_RAM_BUDGET';
        if (!isFull || !(await scheduler.whenLeft())) throw error;
      }
    }
  }

  private start({ session, fed }: ReturnType<Sequence['begin']>): void {
    this.session = session;
    this.startedNs = process.hrtime.bigint();
    this.setup.counts.waited(this.startedNs - this.arrivedNs);
    session.seed(this.setup.seed);
    this.fed = this.kept = fed;
    this.before = this.stats = session.stats();
  }

  private interrupt(reason: Interruption): void {
    if (!this.setup.sequence.goesOn) {
      this.finish(reason);
      return;
    }
    this.interrupted ??= reason;
    if (this.working) this.session?.pause();
    else this.conclude();
  }

  /** The engine is idle: what it has done is accepted, and that is the end. */
  private conclude(): void {
    for (const step of this.held.splice(0)) if (!this.ended) this.accept(step);
    if (this.ended) this.finish(this.ended.reason, this.ended.stop);
    else if (this.interrupted) this.finish(this.interrupted);
  }

  private take(steps: readonly GeneratedStep[]): void {
    const { listener } = this.setup;
    const all = (): void => {
      for (const step of steps) {
        if (this.over || this.ended) return;
        if (this.held.length === 0 && listener.ready()) this.accept(step);
        else this.held.push(step);
      }
    };
    if (steps.length === 1) all();
    else listener.together(all);
    if (!this.over && !listener.ready()) this.session?.pause();
  }

  private accept(step: GeneratedStep): void {
    const { params, model, listener, counts } = this.setup;
    const { id, logprob, tNs, head } = step;
    if (this.lastTokenNs === null) counts.first(this.stats, step, this.arrivedNs);
    else counts.next(this.stats, step, this.lastTokenNs);
    this.lastTokenNs = tNs;
    this.stats = step.stats;
    this.heads.add(head);
    this.drafts.add(step);
    this.firstTokenNs ??= tNs;
    this.tokens.push(id);
    const isEos = !params.ignore_eos && model.stopIds.has(id);
    const isLast = this.tokens.length >= this.most;
    const matched = this.matcher.push(isEos ? '' : (this.tokenText?.push(id) ?? ''));
    let text = matched.text;
    let reason: StopReason | null = null;
    if (matched.stop !== null) reason = 'stop';
    else if (isEos || isLast) {
      reason = isEos ? 'eos' : 'length';
      text += this.restOfText();
    }
    this.text += text;
    if (params.head.trace) listener.head(headEvent(params.stream, this.tokens.length - 1, id, head));
    listener.token({
      stream: params.stream,
      seq: this.tokens.length - 1,
      token: id,
      text,
      t_ns: tNs,
      logprob: logprob ?? undefined,
    });
    if (!reason) return;
    const stop = matched.stop ?? undefined;
    if (this.setup.sequence.goesOn) this.ended = { reason, stop };
    else this.finish(reason, stop);
  }

  /** What was held back: an unfinished UTF-8 sequence, the beginning of a stop string. */
  private restOfText(): string {
    return this.matcher.push(this.tokenText?.end() ?? '').text + this.matcher.end();
  }

  private finish(reason: StopReason, stop?: string): void {
    if (this.over) return;
    const { params, model, seed, counts } = this.setup;
    counts.generation(reason);
    const endNs = process.hrtime.bigint();
    const startNs = this.startedNs ?? endNs;
    const firstNs = this.firstTokenNs ?? endNs;
    // Only an interrupted stream still has text here: no event can carry it any more.
    if (reason === 'cancelled' || reason === 'timeout') this.text += this.restOfText();
    const draws = params.temperature > 0 ? this.tokens.length : 0;
    const nextSeed = BigInt.asUintN(64, seed + BigInt(draws) * drawStep);
    const { stats, before, kept } = this;
    const since = (of: (stats: SessionStats) => number): number =>
      stats && before ? of(stats) - of(before) : 0;
    this.close(this.session ? { tokens: this.tokens, seed: nextSeed } : 'unchanged');
    this.resolve({
      stream: params.stream,
      model: model.name,
      tokens: this.tokens,
      text: this.text,
      stop_reason: reason,
      stop,
      prompt_tokens: this.prompt?.length ?? 0,
      cached_tokens: kept + since((s) => s.cachedPositions),
      generated_tokens: this.tokens.length,
      seed: seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : seed,
      timings: {
        queued_ns: Number(startNs - this.arrivedNs),
        prefill_ns: Number(firstNs - startNs),
        decode_ns: Number(endNs - firstNs),
        total_ns: Number(endNs - this.arrivedNs),
      },
      activity: {
        mixer: share(
          since((s) => s.mixerActive),
          since((s) => s.mixerTotal),
        ),
        ffn: share(
          since((s) => s.ffnActive),
          since((s) => s.ffnTotal),
        ),
      },
      head: this.heads.summary(),
      drafts: this.drafts.summary(),
    });
  }

  private fail(error: unknown): void {
    if (this.over) return;
    this.close(this.session ? 'broken' : 'unchanged');
    this.reject(error instanceof Error ? error : new SpikedError('ERR_INTERNAL', String(error)));
  }

  private close(after: Aftermath): void {
    this.over = true;
    clearTimeout(this.timer);
    this.session = null;
    this.held = [];
    this.setup.sequence.end(after);
    this.setup.model.release();
    this.setup.scheduler.remove(this);
  }
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}
