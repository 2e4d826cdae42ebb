/** The engine's packer against test/tensor/packing.ts, which was written from docs/model-file.md. */
import { addon } from '../../native/host/addon.js';
import type { Packed, WeightDtype, WeightLayout } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import type { Draft, DraftTensor } from './gguf-draft.js';
import {
  f16Bits,
  f16Value,
  placeColumns,
  placeI4,
  placePanel,
  quantiseI4,
  quantiseI8,
  readI4,
} from './packing.js';
import { tinyModel, type TinyOptions } from './tiny-model.js';

const test = suite('packing');
const native = addon();

/** Values over some orders of magnitude, with a row and a group of zeros. */
function weights(rows: number, cols: number): Float32Array {
  return Float32Array.from({ length: rows * cols }, (_, i) => {
    const [r, c] = [Math.floor(i / cols), i % cols];
    if (r === 1 || (r === 2 && c < 32)) return 0;
    return Math.sin(i * 12.9898) * 2 ** ((i % 11) - 8);
  });
}

const shapes = [
  [1, 1],
  [4, 32],
  [5, 33],
  [3, 48],
  [64, 256],
  [66, 257],
  [7, 520],
] as const;

/** What the format's text says of `w` in this storage: bytes, scale, and the values that they stand for. */
function expected(dtype: WeightDtype, layout: WeightLayout, w: Float32Array, rows: number, cols: number) {
  if (dtype === 'i4') {
    const q = quantiseI4(w, cols);
    return { data: placeI4(q, rows, cols), scale: undefined, values: q.values };
  }
  const place = layout === 'column_major' ? placeColumns : placePanel;
  if (dtype === 'f32') return { data: place(w, rows, cols), scale: undefined, values: w };
  const q = quantiseI8(w, cols);
  return { data: place(q.codes, rows, cols), scale: q.scale, values: q.values };
}

const storages: [WeightDtype, WeightLayout][] = [
  ['f32', 'panel_4x32'],
  ['f32', 'column_major'],
  ['i8', 'panel_4x32'],
  ['i8', 'column_major'],
  ['i4', 'panel_4x32_i4'],
];

for (const [dtype, layout] of storages)
  for (const [rows, cols] of shapes)
    test(`${dtype} ${layout} [${rows}, ${cols}]: packed to the byte, unpacked to the bit, in any blocks of rows`, () => {
      const w = weights(rows, cols);
      const packed: Packed = native.pack(dtype, layout, w, rows, cols);
      const { data, scale, values } = expected(dtype, layout, w, rows, cols);
      assert.is(native.packedSize(dtype, layout, rows, cols), data.length);
      assert.ok(data.equals(packed.data));
      assert.equal(packed.scale?.subarray(0, rows), scale);
      for (const step of [1, 3, rows]) {
        for (let from = 0; from < rows; from += step) {
          const to = Math.min(rows, from + step);
          const into = new Float32Array((to - from) * cols);
          native.unpackRows(dtype, layout, packed.data, packed.scale, rows, cols, from, to, into);
          assert.equal(into, values.slice(from * cols, to * cols));
        }
      }
    });

test('row-major f32 is unpacked too', () => {
  const w = weights(3, 5);
  const { data } = native.pack('f32', 'row_major', w, 3, 5);
  assert.equal(
    native.unpackRows('f32', 'row_major', data, null, 3, 5, 1, 3, new Float32Array(10)),
    w.slice(5),
  );
});

test('a width that is no multiple of 32 is padded with zeros', () => {
  const { data } = native.pack('i4', 'panel_4x32_i4', new Float32Array(4 * 48).fill(7), 4, 48);
  assert.is(data.length, 64 + 2 * 64);
  const wide = readI4(Buffer.from(data), 4, 64);
  assert.equal(
    wide.codes,
    Int8Array.from({ length: 4 * 64 }, (_, i) => (i % 64 < 48 ? 7 : 0)),
  );
});

test('f16 scales are rounded to the nearest, half to even', () => {
  const cases: [number, number][] = [
    [1, 0x3c00],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [65504, 0x7bff],
    [2 ** -24, 1],
    [2 ** -25, 0],
    [1.5 * 2 ** -24, 2],
    [2 ** -14 - 2 ** -26, 0x400],
  ];
  for (const [scale, bits] of cases) {
    assert.is(f16Bits(scale), bits, `the test's own rounding of ${scale}`);
    const { data } = native.pack('i4', 'panel_4x32_i4', new Float32Array(1).fill(7 * scale), 1, 1);
    assert.is(Buffer.from(data.buffer).readUInt16LE(0), bits === 0 ? 0x3c00 : bits, String(scale));
    assert.is(f16Value(bits), bits === 0 ? 0 : f16Value(f16Bits(f16Value(bits))));
  }
});

const linear = /tcam_proj|_proj\.weight$|ffn\.(up|down)|output_proj|prior_net/;
const named = (draft: Draft, name: string): DraftTensor | undefined =>
  draft.tensors.find((tensor) => tensor.name === name);

for (const options of [{}, { vocab: 97, dim: 192, heads: 4, ffn: 70 }] as TinyOptions[])
  test(`every tensor of an int4mix draft (${JSON.stringify(options)}) is the engine's, to the byte`, () => {
    const f32 = tinyModel(options);
    const int4mix = tinyModel({ ...options, weights: 'int4mix' });
    let n = 0;
    for (const { name, data, dims } of int4mix.tensors) {
      const source = named(f32, name);
      if (source === undefined) {
        assert.match(name, /(tcam_proj|ffn\.down)\.weight\.scale$/);
        continue;
      }
      if (!linear.test(name)) {
        assert.ok(data.equals(source.data), name);
        continue;
      }
      const shape = f32.metadata.get(`symboliclight.shape.${name}`)?.value as number[];
      const layout = f32.metadata.get(`symboliclight.layout.${name}`)?.value as WeightLayout;
      const [rows = 0, cols = 0] = shape;
      const w = new Float32Array(rows * cols);
      native.unpackRows('f32', layout, source.data, null, rows, cols, 0, rows, w);
      const isBinary = layout === 'column_major';
      const packed = isBinary
        ? native.pack('i8', 'column_major', w, rows, cols)
        : native.pack('i4', 'panel_4x32_i4', w, rows, cols);
      assert.ok(data.equals(packed.data), name);
      assert.is(Number(dims.reduce((a, b) => a * b, 1n)), packed.data.length);
      if (packed.scale !== null)
        assert.equal(new Uint8Array(named(int4mix, `${name}.scale`)?.data ?? []), bytesOf(packed.scale));
      n++;
    }
    assert.is(n, 2 * 7 + 3);
  });

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

test.run();
