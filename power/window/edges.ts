/** The two windows of a run. energy-method.md, 2.3; the ARM case study's windows of the same names. */
export const windowNames = ['decode', 'full'] as const;
export type WindowName = (typeof windowNames)[number];

export interface RunTimes {
  /** The request was sent; the last answer came. */
  readonly sentNs: bigint;
  readonly answeredNs: bigint;
  /** Completion of every token, ascending. */
  readonly tokenNs: readonly bigint[];
}

/**
 * Edges before trimming: `decode` from the first to the last token, `full` from the request to its answer. A run without tokens has a `decode`
 * of no length at the answer, which is then too short and says so.
 */
export function windowEdges(
  name: WindowName,
  { sentNs, answeredNs, tokenNs }: RunTimes,
): { readonly fromNs: bigint; readonly toNs: bigint } {
  if (name === 'full') return { fromNs: sentNs, toNs: answeredNs };
  return { fromNs: tokenNs[0] ?? answeredNs, toNs: tokenNs.at(-1) ?? answeredNs };
}
