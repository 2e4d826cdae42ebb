import type { NativeSession } from '../../../../../native/host/index.js';
import type { HeadResult } from '../results.js';
import type { Gate } from '../settings.js';
import { greedy } from '../../greedy.js';
import { decode } from './decode.js';

/** Greedy decode with a candidate head beside the full head's, which decides what "equal ids" means. */
export async function head(
  session: NativeSession,
  vocab: number,
  { ids, tokens, head: settings }: { ids: number[]; tokens: number; head: Gate },
): Promise<HeadResult> {
  const baseline = await decode(session, ids, tokens);
  session.reset();
  const ns = { projection: 0, prior: 0, selection: 0, verification: 0 };
  const found: number[] = [];
  let [triggered, rows] = [0, 0];
  let [first, last] = [0n, 0n];
  for (let fed = Int32Array.from(ids); found.length < tokens;) {
    const { id, tNs, head: record } = await session.step(fed, greedy, { head: settings });
    if (found.length === 0) first = tNs;
    last = tNs;
    if (record.triggered) {
      triggered++;
      rows += record.rows;
    }
    ns.projection += record.projectionNs;
    ns.prior += record.priorNs;
    ns.selection += record.selectionNs;
    ns.verification += record.verificationNs;
    found.push(id);
    fed = Int32Array.of(id);
  }
  return {
    kind: 'head',
    steps: tokens,
    triggered,
    rows,
    vocab,
    ns,
    tokens_per_s: ((tokens - 1) * 1e9) / Number(last - first),
    baseline_tokens_per_s: baseline.tokens_per_s,
    ids: found,
    ids_equal: found.every((id, i) => id === baseline.ids[i]),
  };
}
