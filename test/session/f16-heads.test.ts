/** Heads over F16 output weights: certified and topk beside full, rows in memory and in the file, over instruction sets and threads. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareHeads } from '../../client/ctl/bench/compare-heads.js';
import { addon } from '../../native/host/addon.js';
import type {
  EngineOptions,
  HeadSettings,
  HeadStep,
  NativeModel,
  Sampling,
} from '../../native/host/addon-types.js';
import { failureOf } from '../host/helpers/failure.js';
import { encode } from '../tensor/gguf-draft.js';
import { wideBitnet, type WideBitnetOptions } from '../tensor/wide-bitnet.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { greedy, modelFile, withModel } from './runs.js';

const test = suite('heads over F16 weights');
const folder = tempDir();
let files = 0;

function bitnetFile(options: WideBitnetOptions = {}): string {
  const path = join(folder, `bitnet-${files++}.gguf`);
  writeFileSync(path, encode(wideBitnet(options)));
  return path;
}

const dim = 128;
/** Three blocks of topk, the last one and the last panel not whole. */
const vocab = 2 * 4096 + 813;
const certified: HeadSettings = { mode: 'certified' };
const topk = (k: number): HeadSettings => ({ mode: 'topk', k });
const drawn: Sampling = { ...greedy, temperature: 0.8, topK: 8, topP: 0.9 };
const masked: Sampling = {
  ...greedy,
  repetitionPenalty: 1.3,
  validVocabSize: vocab - 5,
  bannedIds: Int32Array.from({ length: 900 }, (_, i) => i * 10),
};

/** Rows that are equal, one F16 step apart, each other's negative, zero, one component, far longer than the others. */
function hardRows(values: Float32Array, size: number): void {
  const row = (r: number) => values.subarray(r * size, (r + 1) * size);
  row(4095).set(row(4096));
  row(8191).set(row(17));
  row(8192).set(row(17));
  row(21).set(row(20));
  row(21)[5] = (row(21)[5] ?? 0) * (1 + 2 ** -10);
  row(31).set(row(30).map((value) => -value));
  row(40).fill(0);
  row(41).fill(0)[7] = 0.5;
  row(vocab - 1).set(row(50).map((value) => 12 * value));
}

/** Hidden states that are hard to tell apart, by their kind. */
function hiddenStates(values: Float32Array, n: number): Float32Array {
  let state = 12345;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const noise = () => next() + next() + next() + next() - 2;
  const out = new Float32Array(n * dim);
  for (let t = 0; t < n; t++) {
    const h = out.subarray(t * dim, (t + 1) * dim);
    const special = [4096, 17, 20, 30, 31, 40, 41, 50, vocab - 1];
    const a = special[t % special.length] ?? 0;
    const b = Math.floor(next() * vocab);
    const kind = t % 9;
    for (let i = 0; i < dim; i++) {
      const [x, y] = [values[a * dim + i] ?? 0, values[b * dim + i] ?? 0];
      const texts = [
        x + y,
        x,
        40 * y,
        noise(),
        0,
        1e-20 * noise(),
        1e20 * noise(),
        noise(),
        i % 9 ? 0 : noise(),
      ];
      h[i] = texts[kind] ?? 0;
    }
    if (kind === 7) h[t % dim] = 1e4;
  }
  return out;
}

/** The output's rows as the model has them. */
const values = (() => {
  let kept = new Float32Array();
  wideBitnet({
    vocab,
    rows: (all, size) => {
      hardRows(all, size);
      kept = all.slice();
    },
  });
  return kept;
})();
const path = bitnetFile({ vocab, rows: hardRows });
/** Large enough that its table is seen in what a process holds. */
const large = 40_000;
const largePath = bitnetFile({ vocab: large });
const states = hiddenStates(values, 90);

async function choose(
  model: NativeModel,
  sampling: Sampling,
  head: HeadSettings,
  hidden = states,
): Promise<{ ids: Int32Array; steps: HeadStep[] }> {
  const session = model.openSession();
  try {
    session.seed(5n);
    // What a penalty is for.
    if (sampling === masked) await session.forward(Int32Array.of(3, 17, 50, 4095), { logits: 'none' });
    return await session.choose(hidden, sampling, head);
  } finally {
    session.close();
  }
}

const isas = (): string[] =>
  addon()
    .isas()
    .filter(({ supported }) => supported)
    .map(({ name }) => name);

/** Every way to hold the model and to compute with it. */
function* setups(): Generator<EngineOptions> {
  for (const isa of isas()) {
    const threads = isa === 'scalar' ? [2] : [1, 2, 3, 4];
    for (const n of threads) yield { isa, threads: n, memory: n % 2 === 0 ? 'low' : 'normal' };
  }
}

test('certified is full, topk answers the same everywhere: threads, instruction sets, rows in memory or in the file', async () => {
  const seen = new Map<string, unknown>();
  for (const setup of setups())
    await withModel(path, setup, async (model) => {
      for (const sampling of [greedy, masked, drawn]) {
        const full = await choose(model, sampling, { mode: 'full' });
        const proved = await choose(model, sampling, certified);
        assert.equal(proved.ids, full.ids, JSON.stringify(setup));
        assert.ok(proved.steps.every((step) => step.proved));
        // The proof has to carry: a head that always fell back would be right too. Zeros tie every row, so that kind falls back.
        const fellBack = proved.steps.filter((step) => step.fellBack).length;
        assert.ok(fellBack <= proved.steps.length / 6, `${fellBack} fell back`);
        const found = await choose(model, sampling, topk(4));
        for (const [name, { ids, steps }] of Object.entries({ full, proved, found })) {
          const decisions = steps.map(({ mode, rows, survivors, idBefore, bytes, proved: sure }, i) => [
            ids[i],
            mode,
            rows,
            survivors,
            idBefore,
            bytes,
            sure,
          ]);
          const key = `${name} ${sampling.temperature} ${sampling.repetitionPenalty}`;
          if (seen.has(key)) assert.equal(decisions, seen.get(key), `${JSON.stringify(setup)}: ${key}`);
          seen.set(key, decisions);
        }
      }
    });
});

test('topk: k rows of every block, as many as a draw needs; all rows are full; the lower id of equals', async () => {
  await withModel(path, { threads: 2 }, async (model) => {
    const full = await choose(model, greedy, { mode: 'full' });
    const few = await choose(model, greedy, topk(2));
    assert.ok(few.steps.every(({ mode, rows, proved }) => mode === 'topk' && rows === 6 && !proved));
    assert.ok(few.steps.every(({ idBefore }) => idBefore >= 0 && idBefore < vocab));
    assert.equal((await choose(model, greedy, topk(4096))).ids, full.ids);
    assert.ok((await choose(model, drawn, topk(2))).steps.every(({ rows }) => rows === 24));
    const everything = await choose(model, { ...drawn, topK: 0 }, topk(2));
    assert.ok(everything.steps.every(({ mode }) => mode === 'full'));
    // Rows 17, 8191 and 8192 are one row in two blocks.
    const equal = await choose(model, greedy, topk(1), values.subarray(17 * dim, 18 * dim));
    assert.equal([equal.ids[0], equal.steps[0]?.idBefore], [17, 17]);
    const banned = { ...greedy, bannedIds: Int32Array.of(17, 8191) };
    const third = await choose(model, banned, topk(1), values.subarray(17 * dim, 18 * dim));
    assert.is(third.ids[0], 8192);
    // Where hardly a row is left, those that are left count.
    const rest = { ...greedy, validVocabSize: 3, bannedIds: Int32Array.of(0, 2) };
    const only = await choose(model, rest, topk(4), states.subarray(0, dim));
    assert.equal([only.ids[0], only.steps[0]?.rows], [1, 1]);
  });
});

test('a table of 4 bits: the same ids, half the bytes, more rows', async () => {
  const kept: { bytes: number; survivors: number }[] = [];
  for (const headBits of [8, 4] as const)
    await withModel(path, { threads: 2, headBits }, async (model) => {
      const head = { ...certified, cap: vocab };
      for (const sampling of [greedy, masked]) {
        const found = await compareHeads(model, { name: 'made', hidden: states, sampling }, head);
        assert.is(found.differences, 0, `${headBits} bits`);
        if (sampling === greedy) kept.push({ bytes: found.bytes_mean, survivors: found.survivors.median });
      }
      const many = await compareHeads(model, { name: 'made', hidden: states, sampling: greedy }, topk(64));
      assert.ok(many.differences < states.length / dim / 10, `${headBits} bits: ${many.differences} differ`);
    });
  process.stdout.write(`8 and 4 bits: ${JSON.stringify(kept)}\n`);
  assert.ok((kept[1]?.survivors ?? 0) > (kept[0]?.survivors ?? Infinity));
});

test('the tables are promised before they are made, and given back', async () => {
  const size = large * dim;
  const first = addon().openEngine({ threads: 1, memory: 'low' });
  const model = await first.openModel(largePath);
  const opened = first.memory();
  await choose(model, greedy, topk(4), states.subarray(0, dim));
  const held = first.memory().copiesBytes;
  assert.ok(held >= size && held < 1.2 * size, `${held} bytes for ${size} codes`);
  await choose(model, greedy, certified, states.subarray(0, dim));
  assert.is(first.memory().copiesBytes, held, 'one table for both');
  model.close();
  assert.is(first.memory().copiesBytes, 0);
  first.close();
  const budget = process.memoryUsage.rss() + opened.weightsBytes + opened.scratchBytes + size / 2;
  const tight = addon().openEngine({ threads: 1, memory: 'low', ramBudgetBytes: budget });
  const second = await tight.openModel(largePath);
  const error = await failureOf(() => choose(second, greedy, topk(4), states.subarray(0, dim)));
  assert.is(error.code, 'ERR_RAM_BUDGET');
  assert.match(error.message, /: the head's tables: needs/);
  assert.ok((await choose(second, greedy, { mode: 'full' }, states.subarray(0, dim))).ids.length === 1);
  second.close();
  tight.close();
});

/** Resident bytes of this process that map a file. */
function residentOf(file: string): number {
  let total = 0;
  let inFile = false;
  for (const line of readFileSync('/proc/self/smaps', 'utf8').split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) inFile = line.endsWith(file);
    const rss = /^Rss: +(\d+) kB/.exec(line);
    if (inFile && rss) total += 1024 * Number(rss[1]);
  }
  return total;
}

test('low memory: no head leaves the table resident; a file cut short ends the step, not the process', async () => {
  const table = large * dim * 2;
  await withModel(largePath, { threads: 2, memory: 'low' }, async (model) => {
    for (const head of [{ mode: 'full' } as const, certified, topk(4)])
      await choose(model, greedy, head, states.subarray(0, 20 * dim));
    assert.ok(residentOf(largePath) < table / 4, `${residentOf(largePath)} bytes of ${table} resident`);
    truncateSync(largePath, table / 2);
    for (const head of [{ mode: 'full' } as const, certified, topk(4)]) {
      const session = model.openSession();
      const error = await failureOf(() => session.choose(states.subarray(0, 40 * dim), greedy, head));
      session.close();
      assert.is(error.code, 'ERR_MODEL_FILE_CHANGED', head.mode);
    }
  });
});

test('refusals: modes of other weights, settings out of range, states and rows that are not finite', async () => {
  const refused = (model: NativeModel, head: HeadSettings, text: RegExp): void => {
    assert.throws(() => {
      model.checkHead(head);
    }, text);
  };
  await withModel(path, {}, async (model) => {
    refused(model, { mode: 'gate' }, /"gate" needs int8 or int4 weights .* found f16, which "topk" is for/);
    for (const activations of ['i8', 'f32'] as const)
      refused(model, { mode: 'scan', activations }, /"scan" needs int8 or int4 weights/);
    refused(model, topk(4097), /head\.k: expected 1 to 4096 rows, found 4097/);
    refused(model, topk(0), /head\.k: expected an integer from 1/);
    const bad = states.slice(0, dim);
    bad[9] = Infinity;
    for (const head of [certified, topk(4)]) {
      const error = await failureOf(() => choose(model, greedy, head, bad));
      assert.is(error.code, 'ERR_MODEL_INVALID');
      assert.match(error.message, /the hidden state is inf in dimension 9/i);
    }
  });
  await withModel(modelFile({ weights: 'int8' }), {}, (model) => {
    refused(model, topk(4), /"topk" needs F16 output weights/);
    return Promise.resolve();
  });
  const nan = bitnetFile({ rows: (all) => (all[5 * dim] = NaN) });
  for (const memory of ['normal', 'low'] as const)
    await withModel(nan, { memory }, async (model) => {
      for (const head of [{ mode: 'full' } as const, certified]) {
        const error = await failureOf(() => choose(model, greedy, head, states.subarray(0, dim)));
        assert.is(error.code, 'ERR_MODEL_INVALID', `${memory} ${head.mode}`);
      }
    });
  assert.throws(() => addon().openEngine({ headBits: 5 as 4 }), /head_bits: expected 4 or 8/);
});

test.run();
