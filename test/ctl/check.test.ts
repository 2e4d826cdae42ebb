import { readFileSync, writeFileSync } from 'node:fs';
import { useModel } from '../../client/ctl/engine.js';
import { readCase } from '../../client/ctl/golden/case.js';
import { casesFor, checkSampling, readSamplingCases } from '../../client/ctl/golden/sampling.js';
import { checkSequence } from '../../client/ctl/golden/sequence.js';
import { addon } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { missingCase } from '../export/helpers/golden.js';
import { goldenCase, goldenModel, samplingCases, scratch } from './helpers/models.js';
import { failure, json, output, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl check');

for (const [name, weights] of [
  ['b_window16_anchor4', 'f32'],
  ['c_no_sparse_attn', 'f32'],
  ['d_no_dynamic_prior', 'f32'],
  ['e_base194m', 'f32'],
  ['e_base194m', 'int8'],
  ['f_silent_positions', 'f32'],
  ['g_bf16_stored', 'f32'],
] as const)
  test.needs(missingCase(name), `${name}, ${weights}: every robust sequence passes`, async () => {
    await useModel(await goldenModel(name, weights), { threads: 2 }, async (model) => {
      const golden = await readCase(goldenCase(name), model.info);
      assert.ok(golden.sequences.length >= 5);
      for (const sequence of golden.sequences) {
        const report = await checkSequence(model, golden, sequence);
        assert.equal(report.splits_different, [], sequence.tag);
        if (!report.robust) continue;
        assert.ok(report.passed, `${sequence.tag}: ${JSON.stringify(report.comparisons)}`);
        assert.ok(report.max_abs <= 5e-5 && report.top1 === 1 && report.margin.ffn > 0, sequence.tag);
        assert.ok(report.comparisons.length >= 7, sequence.tag);
      }
    });
  });

test('the command reports what it compared, state and window rule among it', async () => {
  const model = await goldenModel('e_base194m', 'f32');
  const found = await json(['check', model, '--golden', goldenCase('e_base194m')]);
  assert.is(found['passed'], true);
  const sequences = found['sequences'] as { tag: string; comparisons: { name: string }[] }[];
  const names = sequences.find(({ tag }) => tag === 'n8')?.comparisons.map(({ name }) => name);
  for (const name of ['v_mem_after_decode', 'h_after_decode', 'kv_positions_after_decode', 'block_out'])
    assert.ok(names?.includes(name), name);
});

test('a wrong weight fails, naming the sequences, with exit status 3', async () => {
  const model = await goldenModel('b_window16_anchor4', 'f32');
  const bytes = readFileSync(model);
  const described = JSON.parse(await addon().describeFile(model)) as {
    tensors: { name: string; offset_bytes: number }[];
  };
  const at = described.tensors.find(({ name }) => name === 'spike_encoder.norm.bias')?.offset_bytes ?? 0;
  bytes.writeFloatLE(bytes.readFloatLE(at) + 0.5, at);
  const changed = scratch('changed.gguf');
  writeFileSync(changed, bytes);
  const { code, stdout, stderr } = await spikectl([
    'check',
    changed,
    '--golden',
    goldenCase('b_window16_anchor4'),
  ]);
  assert.is(code, 3);
  assert.match(stderr, /^spikectl: ERR_CHECK_FAILED: .*sequence n130\n$/);
  assert.match(stdout, /n130 .*FAIL/);
  assert.match(stdout, /n130: full_logits: off by up to/);
});

test('a model of another case, and weights without reference data, are refused', async () => {
  const model = await goldenModel('c_no_sparse_attn', 'int8');
  assert.match(
    await failure(['check', model, '--golden', goldenCase('b_window16_anchor4')], 1, 'ERR_INVALID_ARGUMENT'),
    /expected \d+, found \d+/,
  );
  assert.match(
    await failure(['check', model, '--golden', goldenCase('c_no_sparse_attn')], 1, 'ERR_FILE_NOT_FOUND'),
    /int8_expected\.safetensors/,
  );
  await failure(['check', model, '--golden', scratch('nowhere')], 1, 'ERR_FILE_NOT_FOUND');
});

for (const name of ['b_window16_anchor4', 'e_base194m'])
  test(`${name}: the distributions before the draw are the reference's`, async () => {
    await useModel(await goldenModel(name, 'f32'), { threads: 1 }, async (model) => {
      const cases = casesFor(samplingCases, await readSamplingCases(samplingCases), name, true);
      assert.ok(cases.length >= 4);
      for (const entry of cases) {
        const report = await checkSampling(model, entry);
        assert.ok(report.passed && report.max_abs <= 1e-5, `${report.settings}: ${report.reason}`);
      }
    });
  });

test('a wrong distribution and an unknown case are found', async () => {
  const model = await goldenModel('b_window16_anchor4', 'f32');
  const file = scratch('wrong.json');
  const text = readFileSync(samplingCases, 'utf8').replace('"top_k": 5', '"top_k": 6');
  assert.not.equal(text, readFileSync(samplingCases, 'utf8'));
  writeFileSync(file, text);
  assert.match(await failure(['check', model, '--sampling', file], 3, 'ERR_CHECK_FAILED'), /sampling case 3/);
  assert.match(
    await failure(['check', model, '--sampling', samplingCases, '--case', 'z'], 1, 'ERR_INVALID_ARGUMENT'),
    /b_window16_anchor4, e_base194m/,
  );
  assert.match(
    await output(['check', model, '--sampling', samplingCases, '--case', 'b_window16_anchor4']),
    /pass/,
  );
});

test.run();
