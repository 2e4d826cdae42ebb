import { basename } from 'node:path';
import { InputFile } from '../../export/input-file.js';
import { exportModel } from '../../export/export.js';
import { readSafetensorsEntries } from '../../export/safetensors.js';
import { addon } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenCases, goldenFile, missingGolden } from './helpers/golden.js';
import { readModelFile, unpack } from './helpers/model-file.js';
import { scratchFolder } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('exports of reference checkpoints');
test.after(() => folder.remove());

const out = folder.path('model.gguf');

/** The raw bytes of some tensors of a reference file. */
async function reference(path: string, wanted: (name: string) => boolean): Promise<Map<string, ArrayBuffer>> {
  const file = await InputFile.open(path);
  try {
    const found = new Map<string, ArrayBuffer>();
    for (const { name, begin, end } of await readSafetensorsEntries(file)) {
      if (!wanted(name)) continue;
      const bytes = new Uint8Array(end - begin);
      await file.readInto(bytes, begin);
      found.set(name, bytes.buffer);
    }
    return found;
  } finally {
    await file.close();
  }
}

for (const name of goldenCases)
  test.needs(
    missingGolden(name, 'model.pt', 'expected.safetensors'),
    `${name}: the engine computes the reference's logits from the exported file`,
    async () => {
      await exportModel({ checkpoint: goldenFile(name, 'model.pt'), out, weights: 'f32' });
      const data = await reference(goldenFile(name, 'expected.safetensors'), (key) => key.startsWith('n8.'));
      const expected = new Float32Array(data.get('n8.full_logits') ?? new ArrayBuffer(0));
      const engine = addon().openEngine({ threads: 1 });
      const model = await engine.openModel(out);
      const session = model.openSession();
      try {
        const { logits } = await session.forward(
          new Int32Array(data.get('n8.input_ids') ?? new ArrayBuffer(0)),
          { logits: 'all' },
        );
        assert.is(logits?.length, expected.length);
        assert.ok(expected.length > 0);
        const worst = expected.reduce(
          (most, value, i) => Math.max(most, Math.abs(value - (logits?.[i] ?? NaN))),
          0,
        );
        assert.ok(worst <= 5e-5, `worst ${worst}`);
      } finally {
        session.close();
        model.close();
        engine.close();
      }
    },
  );

for (const name of ['a_base08b', 'e_base194m'])
  test.needs(
    missingGolden(name, 'model.safetensors', 'int8_weights.safetensors'),
    `${name}: int8 weights and scales are the reference's, to the bit`,
    async () => {
      await exportModel({ checkpoint: goldenFile(name, 'model.safetensors'), out, weights: 'int8' });
      const file = await readModelFile(out);
      const expected = await reference(goldenFile(name, 'int8_weights.safetensors'), () => true);
      const matrices = [...expected.keys()]
        .filter((key) => key.endsWith('.q'))
        .map((key) => basename(key, '.q'));
      assert.is(matrices.length, [...file.tensors.values()].filter(({ type }) => type === 'i8').length);
      for (const matrix of matrices) {
        const { values, scale } = unpack(file, file.tensors.has(matrix) ? matrix : `${matrix}.weight`);
        assert.equal(scale, new Float32Array(expected.get(`${matrix}.scale`) ?? new ArrayBuffer(0)), matrix);
        const q = new Int8Array(expected.get(`${matrix}.q`) ?? new ArrayBuffer(0));
        assert.is(
          values.findIndex((value, i) => value !== q[i]),
          -1,
          matrix,
        );
        assert.is(values.length, q.length);
      }
    },
  );

test.run();
