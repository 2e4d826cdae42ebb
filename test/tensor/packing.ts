/** docs/model-file.md, "INT8", "INT4" and the layouts, written out element by element: shares nothing with the engine's packer. */

/** A quantised matrix: its codes, its scales, and the values that they stand for, as f32. */
export interface Quantised {
  codes: Int8Array;
  scale: Float32Array;
  values: Float32Array;
}

export const roundUp = (n: number, to: number): number => Math.ceil(n / to) * to;

export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** One scale for each run of `group` columns of a row. */
function quantise(
  w: Float32Array,
  cols: number,
  group: number,
  largest: number,
  round: (scale: number) => number,
): Quantised {
  const codes = new Int8Array(w.length);
  const scales: number[] = [];
  const values = new Float32Array(w.length);
  for (let row = 0; row < w.length; row += cols)
    for (let begin = row; begin < row + cols; begin += group) {
      const end = Math.min(begin + group, row + cols);
      const absmax = w.subarray(begin, end).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
      const scale = round(Math.fround(absmax / largest)) || 1;
      scales.push(scale);
      for (let i = begin; i < end; i++) {
        const code = roundHalfEven(Math.fround((w[i] ?? 0) / scale));
        codes[i] = Math.max(-largest, Math.min(largest, code));
        values[i] = (codes[i] ?? 0) * scale;
      }
    }
  return { codes, scale: Float32Array.from(scales), values };
}

/** scale [rows] */
export function quantiseI8(w: Float32Array, cols: number): Quantised {
  return quantise(w, cols, cols, 127, (scale) => scale);
}

/** scale [rows, groups of 32 columns] */
export function quantiseI4(w: Float32Array, cols: number): Quantised {
  return quantise(w, cols, 32, 7, (scale) => f16Value(f16Bits(scale)));
}

/** `panel_4x32` of f32 or int8 values. */
export function placePanel(w: Float32Array | Int8Array, rows: number, cols: number): Buffer {
  const [pr, pc] = [roundUp(rows, 4), roundUp(cols, 32)];
  const out = w instanceof Int8Array ? new Int8Array(pr * pc) : new Float32Array(pr * pc);
  const chunk = 32 / out.BYTES_PER_ELEMENT;
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < cols; c++)
      out[Math.floor(r / 4) * 4 * pc + Math.floor(c / chunk) * chunk * 4 + (r % 4) * chunk + (c % chunk)] =
        w[r * cols + c] ?? NaN;
  return Buffer.from(out.buffer);
}

/** `column_major` of f32 or int8 values. */
export function placeColumns(w: Float32Array | Int8Array, rows: number, cols: number): Buffer {
  const pr = roundUp(rows, 64);
  const out = w instanceof Int8Array ? new Int8Array(pr * cols) : new Float32Array(pr * cols);
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) out[c * pr + r] = w[r * cols + c] ?? NaN;
  return Buffer.from(out.buffer);
}

const panelBytes = (cols: number): number => {
  const groups = Math.ceil(cols / 32);
  return groups * 64 + Math.ceil(groups / 8) * 64;
};

/** Where column `c` of row `r` is inside its panel: the block's scale, the byte and the nibble of the code. */
function i4Place(r: number, c: number): { scaleAt: number; byteAt: number; shift: number } {
  const group = Math.floor(c / 32);
  const block = Math.floor(group / 8) * (64 + 8 * 64);
  const inGroup = c % 32;
  const [lane, nibble] = [inGroup % 4, Math.floor(inGroup / 4)];
  return {
    scaleAt: block + ((group % 8) * 4 + (r % 4)) * 2,
    byteAt: block + 64 + (group % 8) * 64 + (r % 4) * 16 + lane * 4 + Math.floor(nibble / 2),
    shift: (nibble % 2) * 4,
  };
}

/** `panel_4x32_i4`; dims are [bytes of a panel, panels]. */
export function placeI4({ codes, scale }: Omit<Quantised, 'values'>, rows: number, cols: number): Buffer {
  const groups = Math.ceil(cols / 32);
  const out = Buffer.alloc(panelBytes(cols) * Math.ceil(rows / 4));
  for (let r = 0; r < rows; r++) {
    const panel = out.subarray(Math.floor(r / 4) * panelBytes(cols));
    for (let c = 0; c < cols; c++) {
      const { scaleAt, byteAt, shift } = i4Place(r, c);
      panel.writeUInt16LE(f16Bits(scale[r * groups + Math.floor(c / 32)] ?? NaN), scaleAt);
      panel.writeUInt8(panel.readUInt8(byteAt) | (((codes[r * cols + c] ?? 0) & 15) << shift), byteAt);
    }
  }
  return out;
}

export function i4Dims(rows: number, cols: number): number[] {
  return [panelBytes(cols), Math.ceil(rows / 4)];
}

/** The codes and scales in a `panel_4x32_i4` tensor. */
export function readI4(bytes: Buffer, rows: number, cols: number): Quantised {
  const groups = Math.ceil(cols / 32);
  const out: Quantised = {
    codes: new Int8Array(rows * cols),
    scale: new Float32Array(rows * groups),
    values: new Float32Array(rows * cols),
  };
  for (let r = 0; r < rows; r++) {
    const panel = bytes.subarray(Math.floor(r / 4) * panelBytes(cols));
    for (let c = 0; c < cols; c++) {
      const { scaleAt, byteAt, shift } = i4Place(r, c);
      const nibble = (panel.readUInt8(byteAt) >> shift) & 15;
      const scale = f16Value(panel.readUInt16LE(scaleAt));
      const at = r * cols + c;
      out.codes[at] = nibble < 8 ? nibble : nibble - 16;
      out.scale[r * groups + Math.floor(c / 32)] = scale;
      out.values[at] = (out.codes[at] ?? 0) * scale;
    }
  }
  return out;
}

/** The f16 nearest to a number >= 0, half to even, as its bits. */
export function f16Bits(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.max(Math.floor(Math.log2(value)), -14);
  const steps = roundHalfEven(value / 2 ** (exponent - 10)); // 2048 of them carry into the exponent
  return exponent === -14 ? steps : (exponent + 14) * 1024 + steps;
}

export function f16Value(bits: number): number {
  const [exponent, fraction] = [bits >> 10, bits & 1023];
  return exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
}
