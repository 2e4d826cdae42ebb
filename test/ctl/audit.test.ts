import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { audit } from '../../client/ctl/audit/audit.js';
import { auditRecorded, recordedIds } from '../../client/ctl/audit/golden.js';
import { auditEngine, runReference } from '../../client/ctl/audit/runs.js';
import { freeSpikes, placeOf, sitesOf } from '../../client/ctl/audit/spikes.js';
import { useModel } from '../../client/ctl/engine.js';
import { readCase, type GoldenSequence } from '../../client/ctl/golden/case.js';
import { encode } from '../tensor/gguf-draft.js';
import { tinyModel } from '../tensor/tiny-model.js';
import { assert, root, suite } from '../tools/suite.js';
import { missingCase } from '../export/helpers/golden.js';
import { goldenCase, goldenModel, scratch, synthModel } from './helpers/models.js';
import { failure, json, output, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl check --audit');

const bundled = join(root, 'models/default.gguf');

for (const [name, weights] of [
  ['b_window16_anchor4', 'f32'],
  ['c_no_sparse_attn', 'f32'],
  ['d_no_dynamic_prior', 'f32'],
  ['e_base194m', 'f32'],
  ['e_base194m', 'int8'],
  ['f_silent_positions', 'f32'],
  ['g_bf16_stored', 'f32'],
] as const)
  test.needs(
    missingCase(name),
    `${name}, ${weights}: the reference agrees with the recorded runs, and the engine with it`,
    async () => {
      const path = await goldenModel(name, weights);
      const reports = await audit(path, { threads: 2, golden: goldenCase(name), flips: 0 });
      assert.ok(reports.length >= 5);
      for (const { input, robust, recorded, runs } of reports) {
        assert.ok(recorded, input);
        assert.ok(recorded.forced.max_abs <= 5e-5, `${input}: ${recorded.forced.max_abs}`);
        if (robust) assert.equal([recorded.first, recorded.differing], [null, 0], input);
        if (robust) assert.ok(recorded.free.max_abs <= 5e-5, input);
        for (const run of runs) {
          assert.is(run.within_bound, true, `${input}: ${run.run}`);
          if (run.run === 'f32' && robust) assert.is(run.differing, 0, input);
        }
      }
    },
  );

test('flips hidden in a recorded run are found from counts and from block outputs, and explain its error', async () => {
  const path = await goldenModel('e_base194m', 'f32');
  await useModel(path, { threads: 1 }, async (model) => {
    const golden = await readCase(goldenCase('e_base194m'), model.info);
    for (const [tag, kind] of [
      ['n60', 'ffn'],
      ['n60', 'encoder'],
      ['n8', 'block'],
    ] as const) {
      const sequence = golden.sequences.find((entry) => entry.tag === tag);
      assert.ok(sequence);
      const ids = recordedIds(golden, sequence);
      const reference = await runReference(model, ids);
      const near = nearestOf(kind, reference, model.info, ids.length);
      const given = freeSpikes(model.info, ids.length);
      given[kind][near.at] = reference.spikes[kind][near.at] === 1 ? 0 : 1;
      const flipped = await runReference(model, ids, { given });
      flipped.spikes[kind][near.at] = given[kind][near.at] ?? 0;
      const planted = recordingOf(sequence, flipped, model.info, ids.length);
      const { at: _, ...place } = near;
      const report = await auditRecorded(model, ids, reference, golden, planted);
      assert.equal(report.first, { ...place, neuron_by: kind === 'block' ? 'output' : 'count' }, kind);
      assert.ok(report.free.max_abs > 1e-3 && report.forced.max_abs <= 5e-5, kind);
    }
  });
});

/** The neuron of one kind that is nearest to its threshold. */
function nearestOf(
  kind: 'encoder' | 'ffn' | 'block',
  { margins }: Awaited<ReturnType<typeof runReference>>,
  info: Parameters<typeof sitesOf>[0],
  n: number,
) {
  const all = [...sitesOf(info, n)]
    .filter(({ threshold }) => threshold === kind)
    .flatMap((site) =>
      Array.from({ length: site.width }, (_, neuron) => {
        const at = site.offset + neuron;
        return { ...placeOf(site, neuron), at, margin: Math.abs(margins[kind][at] ?? NaN) };
      }),
    );
  return all.reduce((best, one) => (one.margin < best.margin ? one : best));
}

/** A sequence as if `run` had been recorded. */
function recordingOf(
  sequence: GoldenSequence,
  { spikes, margins, logits }: Awaited<ReturnType<typeof runReference>>,
  info: Parameters<typeof sitesOf>[0] & { threshold: number },
  n: number,
): GoldenSequence {
  const counts = {
    act_encoder: new Int32Array(n),
    act_ffn_hidden: new Int32Array(info.nLayers * n),
    act_tcam_in: new Int32Array(info.nLayers * n),
  };
  for (const { threshold, layer, position, offset, width } of sitesOf(info, n)) {
    const fired = spikes[threshold].subarray(offset, offset + width).reduce((sum, spike) => sum + spike, 0);
    if (threshold === 'encoder') counts.act_encoder[position] = counts.act_tcam_in[position] = fired;
    else if (threshold === 'ffn') counts.act_ffn_hidden[(layer ?? 0) * n + position] = fired;
    else counts.act_tcam_in[((layer ?? 0) + 1) * n + position] = fired;
  }
  const prompt = sequence.get('full_logits')?.values.length ?? 0;
  // A float32 keeps the decision: the margin's sign is what counts.
  const outputs = Float32Array.from(spikes.block, (spike, i) =>
    spike === 1 ? info.threshold + Math.abs(margins.block[i] ?? 0) : 0,
  );
  const made: Record<string, Int32Array | Float32Array> = {
    ...counts,
    full_logits: Float32Array.from(logits.subarray(0, prompt)),
    decode_logits: Float32Array.from(logits.subarray(prompt)),
    ...(sequence.get('block_out') && { block_out: outputs }),
  };
  return {
    ...sequence,
    get: (name) => (made[name] ? { shape: [], values: made[name] } : sequence.get(name)),
  };
}

test('the bundled model: JSON of all that was measured, f32 exact, faster activations within their own bound', async () => {
  const found = await json(['check', bundled, '--audit', '--flips', '2']);
  assert.is(found['passed'], true);
  const [report] = found['audits'] as Awaited<ReturnType<typeof audit>>;
  assert.ok(report);
  assert.is(report.input, 'built-in text');
  assert.ok(report.positions >= 50 && report.positions <= 70);
  const [exact, ...faster] = report.runs;
  assert.equal([exact?.run, exact?.first, exact?.differing], ['f32', null, 0]);
  assert.ok(faster.length >= 1);
  for (const run of faster) {
    assert.ok(run.same_inputs !== null && run.same_inputs.max_abs <= 1e-4, run.run);
    assert.ok(run.forced.max_abs <= run.free.max_abs + 1e-4, run.run);
  }
  const last = faster.at(-1);
  assert.ok(last?.run === 'i8' && last.first !== null && last.first.margin > 0 && last.differing > 0);
  assert.is(report.flips.length, 2);
  assert.ok((report.flips[0]?.margin ?? 1) <= (report.flips[1]?.margin ?? 0));
  assert.equal(report.nearest.margin, report.flips[0]?.margin);
});

test('for people: a table a run, chosen precisions only; ids and a text from files', async () => {
  const ids = scratch('ids.txt');
  writeFileSync(ids, '1, 40 41\n42,43\n');
  const text = await output([
    'check',
    bundled,
    '--audit',
    '--ids',
    ids,
    '--activations',
    'f32',
    '--flips',
    '0',
  ]);
  assert.match(text, /ids\.txt: 5 positions; the nearest threshold to flip: position \d, /);
  assert.match(text, /^f32 +none +0 of \d+ /m);
  assert.not.match(text, /^i8|one flip/m);
  const words = scratch('words.txt');
  writeFileSync(words, 'She was very glad.');
  assert.match(
    await output(['check', bundled, '--audit', '--text', words]),
    /^i8 .*\n.*one flip at position/m,
  );
});

test('another weight file of the same shape is held to the same reference', async () => {
  const [f32, int8] = [await goldenModel('e_base194m', 'f32'), await goldenModel('e_base194m', 'int8')];
  const ids = scratch('some-ids.txt');
  writeFileSync(ids, Array.from({ length: 40 }, (_, i) => (i * 37 + 11) % 500).join(' '));
  const found = await json(['check', f32, '--audit', '--ids', ids, '--against', int8]);
  const [report] = found['audits'] as Awaited<ReturnType<typeof audit>>;
  const other = report?.runs.at(-1);
  assert.ok(other?.run === 'int8 weights');
  assert.is(other.within_bound, null);
  assert.ok(other.differing > 0 && other.forced.max_abs < other.free.max_abs);
  assert.match(
    await failure(['check', f32, '--audit', '--ids', ids, '--against', bundled], 1, 'ERR_INVALID_ARGUMENT'),
    /default\.gguf: vocabSize: expected \d+ as in the audited model, found 2048/,
  );
});

test('an error beyond rounding ends with status 3 and names the run', async () => {
  // Logits so large that f32 cannot hold them to 1e-4.
  const draft = tinyModel({});
  const head = draft.tensors.find(({ name }) => name === 'output_head.output_proj.weight');
  assert.ok(head);
  for (let at = 0; at < head.data.length; at += 4)
    head.data.writeFloatLE(head.data.readFloatLE(at) * 1e5, at);
  const path = scratch('large-logits.gguf');
  writeFileSync(path, encode(draft));
  const ids = scratch('few-ids.txt');
  writeFileSync(ids, '1 2 3 4 5 6');
  const { code, stdout, stderr } = await spikectl(['check', path, '--audit', '--ids', ids]);
  assert.is(code, 3);
  assert.match(stderr, /^spikectl: ERR_CHECK_FAILED: .* found more in .*few-ids\.txt: f32\n$/);
  assert.match(stdout, /^f32 FAIL/m);
});

test('a wrong product before a threshold shows in the margins, though forced spikes hide it from the logits', async () => {
  const [right, wrong] = [scratch('right-up.gguf'), scratch('wrong-up.gguf')];
  const draft = tinyModel({});
  writeFileSync(right, encode(draft));
  draft.tensors.find(({ name }) => name === 'blocks.0.ffn.up.weight')?.data.reverse();
  writeFileSync(wrong, encode(draft));
  const ids = Int32Array.from({ length: 20 }, (_, i) => (i * 7) % 90);
  await useModel(right, { threads: 1 }, async (model) => {
    const reference = await runReference(model, ids);
    const own = { model, activations: 'f32' } as const;
    const good = await auditEngine('f32', model, ids, reference, own);
    assert.ok(good.within_bound && good.forced.max_abs < 1e-4);
    await useModel(wrong, { threads: 1 }, async (other) => {
      const bad = await auditEngine('f32', other, ids, reference, own);
      assert.ok(bad.forced.max_abs < 1e-4, 'the logits do not see it');
      assert.ok((bad.widest_otherwise ?? 0) > 0.01);
      assert.is(bad.within_bound, false);
    });
  });
});

test('what does not fit together, and bad files, are refused', async () => {
  const usage = async (args: string[], message: RegExp) => {
    assert.match(await failure(['check', bundled, ...args], 2, 'ERR_USAGE'), message);
  };
  await usage(['--flips', '2', '--golden', 'x'], /--flips: expected --audit beside it/);
  await usage(['--ids', 'x', '--golden', 'x'], /--ids: expected --audit beside it/);
  await usage(
    ['--audit', '--ids', 'x', '--text', 'y'],
    /one of --golden, --ids, --text, found --ids, --text/,
  );
  await usage(['--audit', '--sampling', 'x'], /--sampling: expected no --audit/);
  await usage(['--golden', 'x', '--activations', 'f32,i8'], /expected one without --audit, found several/);
  await usage(['--audit', '--activations', 'f32,i3'], /separated by commas/);
  const bad = scratch('bad-ids.txt');
  writeFileSync(bad, '1 2 x3');
  assert.match(
    await failure(['check', bundled, '--audit', '--ids', bad], 1, 'ERR_INVALID_ARGUMENT'),
    /bad-ids\.txt: token \d+: expected an id, found "x3"/,
  );
  writeFileSync(bad, ' ');
  assert.match(
    await failure(['check', bundled, '--audit', '--ids', bad], 1, 'ERR_INVALID_ARGUMENT'),
    /expected 1 to 4096 token ids, found 0/,
  );
  await failure(['check', bundled, '--audit', '--text', scratch('nowhere')], 1, 'ERR_FILE_NOT_FOUND');
  const bare = await synthModel('audit-bare');
  assert.match(
    await failure(['check', bare, '--audit'], 1, 'ERR_TOKENIZER_MISSING'),
    /give --ids or --golden/,
  );
});

test.run();
