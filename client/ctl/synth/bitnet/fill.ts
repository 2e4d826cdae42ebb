import { fillUniform, fillWords, streamStart } from '../random.js';
import type { BitnetTensor } from './tensors.js';

const blockBytes = 1 << 20;

/** A tensor's bytes, in blocks that share one buffer: each is to be written before the next is asked for. */
export function* tensorBytes(tensor: BitnetTensor, seed: bigint): Generator<Uint8Array> {
  const columns = tensor.dims[0] ?? 0;
  const rows = tensor.dims[1] ?? 1;
  const fill = fillers[tensor.fill](tensor.scale, columns);
  const rowsAtOnce = Math.max(1, Math.floor(blockBytes / fill.rowBytes));
  const block = new Uint8Array(Math.min(rows, rowsAtOnce) * fill.rowBytes);
  for (let from = 0; from < rows; from += rowsAtOnce) {
    const n = Math.min(rowsAtOnce, rows - from);
    for (let i = 0; i < n; i++) fill.row(block, i * fill.rowBytes, streamStart(seed, tensor.name, from + i));
    yield block.subarray(0, n * fill.rowBytes);
  }
  if (tensor.fill === 'ternary') yield scaleTrailer(tensor.scale);
}

interface Filler {
  rowBytes: number;
  /** Writes a row at `offset` of `block`, a multiple of 4, from the stream that begins at `start`. */
  row: (block: Uint8Array, offset: number, start: number) => void;
}

const fillers: Record<BitnetTensor['fill'], (scale: number, columns: number) => Filler> = {
  norm: (scale, columns) => ({
    rowBytes: 4 * columns,
    row: (block, offset, start) => {
      fillUniform(new Float32Array(block.buffer, offset, columns), start, scale, 0.05 * scale);
    },
  }),
  ternary: (_, columns) => ({ rowBytes: columns / 4, row: ternaryRow(columns / 16) }),
  table: (scale, columns) => ({ rowBytes: 2 * columns, row: tableRow(scale, columns) }),
};

/** Codes 0, 1 and 2, a third each: a random byte stands for four of the 81 combinations, nearly all alike. */
function ternaryRow(nWords: number): Filler['row'] {
  const pairs = new Uint16Array(65536);
  const byte = (n: number) => {
    const combination = Math.floor((n * 81) / 256);
    return [1, 3, 9, 27].reduce((bits, unit) => (bits << 2) | (Math.floor(combination / unit) % 3), 0);
  };
  for (let n = 0; n < pairs.length; n++) pairs[n] = byte(n & 255) | (byte(n >> 8) << 8);
  const words = new Uint32Array(nWords);
  return (block, offset, start) => {
    fillWords(words, start);
    const out = new Uint16Array(block.buffer, offset, 2 * nWords);
    for (let i = 0; i < nWords; i++) {
      const word = words[i] ?? 0;
      out[2 * i] = pairs[word & 0xffff] ?? 0;
      out[2 * i + 1] = pairs[word >>> 16] ?? 0;
    }
  };
}

// Standard deviation of a sum of four bytes, and its largest value.
const [sumDeviation, largestSum] = [Math.sqrt((4 * (256 ** 2 - 1)) / 12), 4 * 255];
const nScales = 16;

/** Close to normal (a sum of four bytes), with rows whose norms differ by some 15 per cent, as those of trained tables do. */
function tableRow(deviation: number, columns: number): Filler['row'] {
  const tables = Array.from({ length: nScales }, (_, i) => {
    const scale = deviation * Math.exp(0.15 * ((3.4 * (i + 0.5)) / nScales - 1.7));
    return Uint16Array.from({ length: largestSum + 1 }, (_, sum) =>
      halfBits((scale * (sum - largestSum / 2)) / sumDeviation),
    );
  });
  const words = new Uint32Array(columns);
  return (block, offset, start) => {
    fillWords(words, start);
    const table = tables[start & (nScales - 1)] ?? new Uint16Array();
    const out = new Uint16Array(block.buffer, offset, columns);
    for (let i = 0; i < columns; i++) {
      const word = words[i] ?? 0;
      out[i] = table[(word & 255) + ((word >>> 8) & 255) + ((word >>> 16) & 255) + (word >>> 24)] ?? 0;
    }
  };
}

/** The half float nearest to a number below 2 in size. */
function halfBits(x: number): number {
  const size = Math.abs(x);
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  // Counted in units of the last place: a carry out of the fraction goes on into the exponent, as it should.
  const units = Math.round(size * 2 ** (10 - exponent));
  const bits = size < 2 ** -14 ? units : ((exponent + 14) << 10) + units;
  return bits | (x < 0 ? 0x8000 : 0);
}

/** The tensor's scale, in what follows its codes. */
function scaleTrailer(scale: number): Uint8Array {
  const trailer = Buffer.alloc(32);
  trailer.writeFloatLE(scale);
  return trailer;
}
