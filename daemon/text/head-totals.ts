import type { FullParams, HeadEvent, Result } from '../../client/protocol/index.js';
import type { HeadStep } from '../../native/host/index.js';

type Head = FullParams<'text.generate'>['head'];
type Summary = Result<'text.generate'>['head'];

/** Sums what the head did over the steps of one generation. */
export class HeadTotals {
  private readonly totals = {
    steps: 0,
    full_steps: 0,
    triggered: 0,
    proved: 0,
    fell_back: 0,
    rows: 0,
    survivors: 0,
    projection_ns: 0,
    prior_ns: 0,
    selection_ns: 0,
    verification_ns: 0,
    bytes: 0,
  };

  constructor(
    private readonly head: Head,
    private readonly vocabSize: number,
  ) {}

  add(step: HeadStep): void {
    const { totals } = this;
    totals.steps += 1;
    totals.full_steps += Number(step.mode === 'full' && this.head.mode !== 'full');
    totals.triggered += Number(step.triggered);
    totals.proved += Number(step.proved);
    totals.fell_back += Number(step.fellBack);
    totals.rows += step.rows;
    totals.survivors += step.survivors;
    totals.projection_ns += step.projectionNs;
    totals.prior_ns += step.priorNs;
    totals.selection_ns += step.selectionNs;
    totals.verification_ns += step.verificationNs;
    totals.bytes += step.bytes;
  }

  summary(): Summary {
    const { mode, k } = this.head;
    const reduction = mode === 'gate' ? 100 * (1 - k / this.vocabSize) : null;
    return { mode, row_reduction_percent: reduction, ...this.totals };
  }
}

/** A step as the event that announces it. */
export function headEvent(
  stream: HeadEvent['stream'],
  seq: number,
  token: number,
  step: HeadStep,
): HeadEvent {
  return {
    stream,
    seq,
    mode: step.mode,
    gap: Number.isFinite(step.gap) ? step.gap : null,
    triggered: step.triggered,
    proved: step.proved,
    fell_back: step.fellBack,
    rows: step.rows,
    survivors: step.survivors,
    token_before: step.idBefore,
    token,
    projection_ns: step.projectionNs,
    prior_ns: step.priorNs,
    selection_ns: step.selectionNs,
    verification_ns: step.verificationNs,
    bytes: step.bytes,
  };
}
