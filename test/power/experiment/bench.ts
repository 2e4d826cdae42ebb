/** An experiment by hand: a meter and a subject that do what a test tells them, in milliseconds. Everything between them is real. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../../client/protocol/errors.js';
import type { ExperimentEvent } from '../../../power/experiment/events.js';
import { runExperiment } from '../../../power/experiment/experiment.js';
import { readFolder } from '../../../power/experiment/folder.js';
import { readJournal } from '../../../power/experiment/journal.js';
import { MeterFeed } from '../../../power/experiment/meter-feed.js';
import { parsePlan } from '../../../power/experiment/read-plan.js';
import type { Environment, JournalEntry, MachineState, RunEntry } from '../../../power/experiment/record.js';
import type { Generated, Subject } from '../../../power/experiment/subject.js';
import type { Meter, SampleFlag } from '../../../power/meters/meter.js';
import { tempDir } from '../../tools/suite.js';

const periodMs = 5;
const base = tempDir();

/** A run has 24 tokens, which take 120 ms unless a test makes the machine faster. */
export const plan = (over: object = {}) =>
  parsePlan(
    {
      name: 'bench',
      prompt: 'x',
      tokens: 24,
      arms: [{ name: 'a' }, { name: 'b' }],
      blocks: 2,
      trim_s: 0,
      idle_s: 0.05,
      cool_down_s: 0.01,
      warm_up: { slope_percent_per_min: 1e9, min_s: 0.1, max_s: 0.2 },
      thermal_gate: { within_celsius: 2, max_wait_s: 0.1 },
      ...over,
    },
    'plan.json',
  );

const environment: Environment = {
  version: '0',
  commit: '0',
  node: '0',
  machine: { board: null, cpu: null, cores: 1, memory_bytes: 1, os: 'x', kernel: 'x' },
  daemons: [],
  warnings: [],
};

export class Bench {
  readonly folder = mkdtempSync(join(base, 'e-'));
  readonly events: ExperimentEvent[] = [];
  readonly revived: string[] = [];
  readonly abort = new AbortController();
  /** Runs of blocks begun so far, in all parts. */
  runs = 0;
  stopped = 0;
  tokenMs = 5;
  /** Called at the beginning of every run of a block: what goes wrong in it. */
  onRun: (run: number, arm: string, tokens: number) => Partial<Generated> | undefined = () => undefined;
  /** In this run of a block the meter goes away, 30 ms after its begin, for so long. */
  unplugIn: { readonly run: (run: number) => boolean; readonly ms: number } | undefined;
  machine: (runs: number) => Partial<MachineState> = () => ({});
  private lost = false;
  private feed = new MeterFeed();
  private inRun = false;

  private unplug(ms: number): void {
    this.lost = true;
    this.push(null, 'lost');
    setTimeout(() => {
      this.lost = false;
      this.push(10, 'back');
    }, ms).unref();
  }

  async run(over: object = {}, options: { resume?: boolean; reconnectMs?: number } = {}): Promise<void> {
    this.feed = new MeterFeed();
    this.lost = false;
    const timer = setInterval(() => {
      if (!this.lost) this.push(10 + Math.random() / 10);
    }, periodMs);
    const meter: Meter = {
      traits: {
        resolutionWatts: 0.1,
        accuracy: 0.005,
        updatePeriodNs: periodMs * 1e6,
        rule: 'backward-rectangle',
        maxWatts: null,
        current: 'alternating',
      },
      identity: { kind: 'bench', profile: null, address: 'bench:', maker: null, model: null, serial: null, firmware: null, simulated: true }, // prettier-ignore
      counts: { requests: 0, frames: 0, samples: 0, checksumErrors: 0, torn: 0, late: 0, timeouts: 0, reconnects: 0 }, // prettier-ignore
      start: () => Promise.resolve(),
      stop: () => {
        clearInterval(timer);
        this.stopped++;
        return Promise.resolve();
      },
    };
    const whole = plan(over);
    try {
      await runExperiment({
        plan: whole,
        folder: this.folder,
        past: await readFolder(this.folder, whole, options.resume === true),
        meter,
        feed: this.feed,
        subject: this.subject(),
        signal: this.abort.signal,
        reconnectMs: options.reconnectMs ?? 2000,
        report: (event) => {
          this.events.push(event);
          if (event.kind === 'run') this.inRun = true;
        },
      });
    } finally {
      clearInterval(timer);
    }
  }

  /** Runs that must fail; the error. */
  async fails(
    over: object = {},
    options: { resume?: boolean; reconnectMs?: number } = {},
  ): Promise<SpikedError> {
    try {
      await this.run(over, options);
    } catch (error) {
      if (error instanceof SpikedError) return error;
      throw error;
    }
    throw new Error('expected the experiment to fail');
  }

  journal(): Promise<JournalEntry[]> {
    return readJournal(this.folder);
  }

  /** `B.S arm reason` of every run, in order. */
  async runLines(): Promise<string[]> {
    const runs = (await this.journal()).filter((entry): entry is RunEntry => entry.kind === 'run');
    return runs.map(({ block, slot, arm, reasons }) =>
      [`${block}.${slot}`, arm, ...reasons.map((r) => r.reason)].join(' '),
    );
  }

  remarks(): string[] {
    return this.events.flatMap((event) => (event.kind === 'remark' ? [event.text] : []));
  }

  private push(watts: number | null, ...flags: SampleFlag[]): void {
    this.feed.sample({ tNs: process.hrtime.bigint(), watts, volts: null, amps: null, joules: null, flags });
  }

  private subject(): Subject {
    return {
      generate: async (arm, tokens, signal) => {
        const inRun = this.inRun;
        this.inRun = false;
        const wrong = inRun ? this.onRun(++this.runs, arm, tokens) : undefined;
        const { unplugIn } = this;
        if (inRun && unplugIn?.run(this.runs) === true) setTimeout(() => this.unplug(unplugIn.ms), 30);
        const sentNs = process.hrtime.bigint();
        await sleep(tokens * this.tokenMs, undefined, { signal }).catch(() => undefined);
        const answeredNs = process.hrtime.bigint();
        const made = signal.aborted ? Math.floor(tokens / 2) : tokens;
        const step = (answeredNs - sentNs) / BigInt(made + 1);
        return {
          sentNs,
          answeredNs,
          marksNs: Array.from({ length: made }, (_, i) => sentNs + step * BigInt(i + 1)),
          ids: Array.from({ length: made }, (_, i) => i),
          requests: 1,
          failure: signal.aborted ? new SpikedError('ERR_CANCELLED', 'aborted') : null,
          ...wrong,
        };
      },
      describe: () => Promise.resolve(environment),
      machine: () =>
        Promise.resolve({
          celsius: null,
          governors: [],
          clocks_mhz: [],
          throttled: false,
          other_load: null,
          ...this.machine(this.runs),
        }),
      revive: (arm) => {
        this.revived.push(arm);
        return Promise.resolve();
      },
    };
  }
}
