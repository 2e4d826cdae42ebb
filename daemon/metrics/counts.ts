import type { GeneratedStep, HeadMode, SessionStats } from '../../native/host/index.js';
import { Tally } from './tally.js';

const waits = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
const tokenTimes = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2,
];

const seconds = (ns: bigint): number => Number(ns) / 1e9;

/** What the daemon has done since its start, in plain numbers: a token pays some additions, whoever reads them pays the rest. */
export class Counts {
  /** By method and outcome. */
  readonly requests = new Map<string, { method: string; outcome: string; n: number }>();
  readonly generations = new Map<string, number>();
  connections = 0;
  connectionsAccepted = 0;
  readonly connectionsRefused = { all_in_use: 0, not_allowed: 0 };

  generatedTokens = 0;
  promptTokens = 0;
  cachedTokens = 0;
  readonly bytes = { blocks: 0, kv: 0, head: 0 };
  readonly columns = { mixer: 0, ffn: 0 };
  readonly activeColumns = { mixer: 0, ffn: 0 };
  readonly headSteps: Record<HeadMode, number> = { full: 0, scan: 0, gate: 0, certified: 0, topk: 0 };
  readonly drafts = { passes: 0, proposed: 0, accepted: 0 };
  readonly head = { proved: 0, fellBack: 0, triggered: 0, rows: 0, survivors: 0 };

  readonly queueWait = new Tally(waits);
  readonly firstToken = new Tally(waits);
  readonly interToken = new Tally(tokenTimes);

  request(method: string, outcome: string): void {
    const key = `${method} ${outcome}`;
    const entry = this.requests.get(key);
    if (entry) entry.n++;
    else this.requests.set(key, { method, outcome, n: 1 });
  }

  generation(stopReason: string): void {
    this.generations.set(stopReason, (this.generations.get(stopReason) ?? 0) + 1);
  }

  waited(ns: bigint): void {
    this.queueWait.add(seconds(ns));
  }

  /** Ids of a prompt were fed, between these two states of their session. */
  fed(before: SessionStats | null, after: SessionStats): void {
    const cached = after.cachedPositions - (before?.cachedPositions ?? 0);
    this.cachedTokens += cached;
    this.promptTokens += after.position - (before?.position ?? 0) - cached;
    this.passed(before, after);
  }

  /** The first token after a prompt. */
  first(before: SessionStats | null, step: GeneratedStep, arrivedNs: bigint): void {
    this.fed(before, step.stats);
    this.firstToken.add(seconds(step.tNs - arrivedNs));
    this.drew(step);
  }

  /** A further token. */
  next(before: SessionStats | null, step: GeneratedStep, lastNs: bigint): void {
    this.passed(before, step.stats);
    this.interToken.add(seconds(step.tNs - lastNs));
    this.drew(step);
  }

  private passed(before: SessionStats | null, after: SessionStats): void {
    this.bytes.blocks += after.bytesTouched;
    this.bytes.kv += after.kvBytesTouched;
    this.columns.mixer += after.mixerTotal - (before?.mixerTotal ?? 0);
    this.columns.ffn += after.ffnTotal - (before?.ffnTotal ?? 0);
    this.activeColumns.mixer += after.mixerActive - (before?.mixerActive ?? 0);
    this.activeColumns.ffn += after.ffnActive - (before?.ffnActive ?? 0);
  }

  private drew({ head, draft }: GeneratedStep): void {
    this.generatedTokens++;
    if (draft) {
      this.drafts.passes++;
      this.drafts.proposed += draft.guessed;
      this.drafts.accepted += draft.right;
    }
    // A step's bytes hold those of its head.
    this.bytes.blocks -= head.bytes;
    this.bytes.head += head.bytes;
    this.headSteps[head.mode]++;
    this.head.proved += Number(head.proved);
    this.head.fellBack += Number(head.fellBack);
    this.head.triggered += Number(head.triggered);
    this.head.rows += head.rows;
    this.head.survivors += head.survivors;
  }
}
