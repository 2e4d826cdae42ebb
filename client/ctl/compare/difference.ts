import { SpikedError } from '../../protocol/errors.js';
import type { Capture } from './capture.js';

/** One logit in two captures. */
export interface FirstDifference {
  position: number;
  id: number;
  a: number;
  b: number;
  /** The values as they are stored: eight hex digits. */
  aBits: string;
  bBits: string;
}

export interface CaptureDifference {
  positions: number;
  vocabSize: number;
  /** Of all values, those whose bits differ. */
  nDifferent: number;
  first: FirstDifference | undefined;
  /** Values that are not finite in one of the two; the errors below leave them out. */
  nNotFinite: number;
  maxAbs: number;
  meanAbs: number;
  /** Σ(a−b)² / Σa². */
  nmse: number;
  /** Positions at which both have their largest logit at the same id, the lowest of equals. */
  sameTop1: number;
}

/**
 * How far b's logits are from a's, bit by bit and as numbers.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT when they are not of the same ids, vocabulary or, unless `anyModel`, model
 */
export async function compareCaptures(a: Capture, b: Capture, anyModel: boolean): Promise<CaptureDifference> {
  requireComparable(a, b, anyModel);
  const { ids, vocabSize } = a.facts;
  const [rowA, rowB] = [new Float32Array(vocabSize), new Float32Array(vocabSize)];
  const sums = new Sums(vocabSize);
  for (let position = 0; position < ids.length; position++) {
    await a.row(position, rowA);
    await b.row(position, rowB);
    sums.add(position, rowA, rowB);
  }
  return sums.result(ids.length);
}

function requireComparable(a: Capture, b: Capture, anyModel: boolean): void {
  const differs = (what: string, expected: string | number, found: string | number, more = '') =>
    new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `${b.path}: ${what}: expected ${expected} as in ${a.path}, found ${found}${more}`,
    );
  const [one, other] = [a.facts, b.facts];
  if (one.vocabSize !== other.vocabSize) throw differs('vocabulary', one.vocabSize, other.vocabSize);
  if (one.ids.length !== other.ids.length)
    throw differs('ids', `${one.ids.length} positions`, other.ids.length);
  const at = one.ids.findIndex((id, i) => id !== other.ids[i]);
  if (at >= 0) throw differs(`ids: position ${at}`, one.ids[at] ?? '', other.ids[at] ?? '');
  const [model, otherModel] = [one, other].map(({ metadata }) => metadata.get('model_sha256'));
  if (anyModel || model === undefined || otherModel === undefined || model === otherModel) return;
  throw differs('model: SHA-256 of its data', model, otherModel, '; --any-model compares all the same');
}

class Sums {
  private nDifferent = 0;
  private first: FirstDifference | undefined;
  private nNotFinite = 0;
  private maxAbs = 0;
  private sumAbs = 0;
  private sumSquares = 0;
  private sumReference = 0;
  private sameTop1 = 0;

  constructor(private readonly vocabSize: number) {}

  add(position: number, a: Float32Array, b: Float32Array): void {
    const [bitsA, bitsB] = [a, b].map(
      ({ buffer, byteOffset, length }) => new Uint32Array(buffer, byteOffset, length),
    );
    if (bitsA === undefined || bitsB === undefined) return;
    let [topA, topB] = [0, 0];
    for (let id = 0; id < a.length; id++) {
      const [x = NaN, y = NaN] = [a[id], b[id]];
      if (x > (a[topA] ?? NaN)) topA = id;
      if (y > (b[topB] ?? NaN)) topB = id;
      if (bitsA[id] !== bitsB[id]) {
        this.nDifferent++;
        this.first ??= { position, id, a: x, b: y, aBits: hex(bitsA[id] ?? 0), bBits: hex(bitsB[id] ?? 0) };
      }
      const distance = Math.abs(x - y);
      if (!Number.isFinite(distance)) {
        this.nNotFinite++;
        continue;
      }
      if (distance > this.maxAbs) this.maxAbs = distance;
      this.sumAbs += distance;
      this.sumSquares += distance * distance;
      this.sumReference += x * x;
    }
    if (topA === topB) this.sameTop1++;
  }

  result(positions: number): CaptureDifference {
    const counted = positions * this.vocabSize - this.nNotFinite;
    return {
      positions,
      vocabSize: this.vocabSize,
      nDifferent: this.nDifferent,
      first: this.first,
      nNotFinite: this.nNotFinite,
      maxAbs: this.maxAbs,
      meanAbs: counted === 0 ? 0 : this.sumAbs / counted,
      nmse: this.sumSquares === 0 ? 0 : this.sumSquares / this.sumReference,
      sameTop1: this.sameTop1,
    };
  }
}

function hex(bits: number): string {
  return bits.toString(16).padStart(8, '0');
}
