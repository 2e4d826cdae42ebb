import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useModel, useSession } from '../../client/ctl/engine.js';
import { parseIds } from '../../client/ctl/eval/input.js';
import { windowsOf } from '../../client/ctl/eval/windows.js';
import { readCase } from '../../client/ctl/golden/case.js';
import { assert, root, suite } from '../tools/suite.js';
import { missingCase } from '../export/helpers/golden.js';
import { goldenCase, goldenModel, scratch, synthModel } from './helpers/models.js';
import { failure, json, output, program } from './helpers/spikectl.js';

const test = suite('spikectl eval');
const bundled = join(root, 'models/default.gguf');
const prose = `It was a truth that every one of them had been told, and no one had yet believed it. She was
not at all sure of her own opinion, and could not say what he thought of the whole affair.\n`;

/** log p of `id` under the softmax of the first `valid` logits, by the book. */
function logProbability(logits: ArrayLike<number>, valid: number, id: number): number {
  let sum = 0;
  for (let i = 0; i < valid; i++) sum += Math.exp(logits[i] ?? NaN);
  return (logits[id] ?? NaN) - Math.log(sum);
}

function idsFile(name: string, ids: Iterable<number>): string {
  const path = scratch(name);
  writeFileSync(path, [...ids].join(' '));
  return path;
}

const someIds = (n: number, size: number): number[] =>
  Array.from({ length: n }, (_, i) => (i * 37 + 3) % size);

test('windows score every id once, but those with nothing before them', () => {
  for (const [n, seq, stride] of [
    [10, 4, 4],
    [11, 4, 4],
    [9, 4, 4],
    [3, 8, 8],
    [23, 8, 3],
    [16, 8, 8],
    [20, 5, 1],
  ] as const)
    for (const bos of [false, true]) {
      const scored: number[] = [];
      for (const window of windowsOf(n, seq, stride, bos)) {
        assert.is(window.from, window.index * stride);
        assert.is(window.to, Math.min(n, window.from + seq));
        for (let i = window.scoreFrom; i < window.to; i++) scored.push(i);
      }
      const ids = Array.from({ length: n }, (_, i) => i);
      const expected = ids.filter((i) => bos || (stride === seq ? i % seq !== 0 : i !== 0));
      assert.equal(scored, expected, `${n} ids, ${seq} every ${stride}, ${bos ? 'BOS' : 'no BOS'}`);
    }
});

test('ids may be apart by spaces, commas, lines, or be a JSON array', () => {
  for (const text of ['1 22 3', '1,22,3', '1\n22\n3\n', '[1, 22, 3]\n'])
    assert.equal([...parseIds('f', text)], [1, 22, 3], text);
});

for (const name of ['b_window16_anchor4', 'c_no_sparse_attn', 'e_base194m', 'g_bf16_stored'])
  test.needs(
    missingCase(name),
    `${name}: log-likelihoods are those of the logits that the reference recorded`,
    async () => {
      const path = await goldenModel(name, 'f32');
      let compared = 0;
      await useModel(path, { threads: 2 }, async (model) => {
        const { vocabSize, validVocabSize } = model.info;
        for (const sequence of (await readCase(goldenCase(name), model.info)).sequences) {
          const ids = Int32Array.from(sequence.get('input_ids')?.values ?? []);
          const logits = sequence.get('full_logits')?.values;
          if (!sequence.robust || ids.length < 2 || logits === undefined) continue;
          const expected = Array.from(ids).map((id, i) =>
            i === 0
              ? 0
              : logProbability(logits.subarray((i - 1) * vocabSize, i * vocabSize), validVocabSize, id),
          );
          const { logprobs } = await useSession(model, (session) => session.score(ids));
          expected.forEach((value, i) => {
            assert.ok(Math.abs((logprobs[i] ?? NaN) - value) < 1e-5, `${sequence.tag} ${i}`);
            compared++;
          });
          const file = idsFile(`${name}-${sequence.tag}.ids`, ids);
          const found = await json(['eval', 'perplexity', path, '--ids', file, '--seq', String(ids.length)]);
          const nats = -expected.reduce((sum, value) => sum + value, 0);
          assert.is(found['tokens_scored'], ids.length - 1);
          assert.ok(Math.abs(Number(found['nats']) / nats - 1) < 1e-5, sequence.tag);
        }
      });
      assert.ok(compared > 20, String(compared));
    },
  );

test('the bundled model: six digits of the perplexity that its own logits give', async () => {
  const text = scratch('prose.txt');
  writeFileSync(text, prose);
  const ids = JSON.parse(
    await output(['tokens', bundled, '--json-lines'], { input: `${JSON.stringify(prose)}\n` }),
  ) as number[];
  const [seq, stride] = [32, 24];
  for (const bos of [false, true]) {
    let nats = 0;
    let scored = 0;
    for (const window of windowsOf(ids.length, seq, stride, bos)) {
      const fed = [...(bos ? [1] : []), ...ids.slice(window.from, window.to)];
      const file = scratch('window.f32');
      await output(['logits', bundled, '--ids', fed.join(), '-o', file]);
      const bytes = readFileSync(file);
      const logits = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      const width = logits.length / fed.length;
      for (let i = window.scoreFrom; i < window.to; i++) {
        const at = i - window.from + fed.length - (window.to - window.from);
        nats -= logProbability(logits.subarray((at - 1) * width, at * width), width, ids[i] ?? -1);
        scored++;
      }
    }
    const found = await json([
      ...['eval', 'perplexity', bundled, '--text', text, '--seq', String(seq), '--stride', String(stride)],
      ...(bos ? ['--bos'] : []),
    ]);
    assert.equal([found['tokens'], found['tokens_scored']], [ids.length, scored]);
    assert.is(Number(found['perplexity']).toPrecision(6), Math.exp(nats / scored).toPrecision(6));
    assert.is(found['masked_mass'], 0);
  }
});

test('the same bits at any thread count, and on scalar', async () => {
  const file = idsFile('bits.ids', someIds(150, 2048));
  const args = ['eval', 'perplexity', bundled, '--ids', file, '--seq', '40', '--stride', '25'];
  const bits = async (threads: string, isa?: string) => {
    const found = await json([...args, '--threads', threads], { env: { SPIKED_FORCE_ISA: isa } });
    return [found['nats'], found['perplexity'], found['masked_mass'], found['tokens_seen']];
  };
  const expected = await bits('1');
  assert.equal(await bits('2'), expected);
  assert.equal(await bits('1', 'scalar'), expected);
});

test('slots without a token have their mass reported', async () => {
  const path = await synthModel('masked', { tokenizer: true });
  const file = idsFile('masked.ids', someIds(30, 200));
  const found = await json(['eval', 'perplexity', path, '--ids', file]);
  assert.ok(
    Number(found['masked_mass']) > 0.5 && Number(found['masked_mass']) < 1,
    String(found['masked_mass']),
  );
  assert.match(await output(['eval', 'perplexity', path, '--ids', file]), /masked mass +[\d.]+e-1/);
});

test('what cannot be scored is refused by name', async () => {
  const bare = await synthModel('bare');
  const withTokenizer = await synthModel('texts', { tokenizer: true });
  const refused = (args: string[], code: number, error: string) =>
    failure(['eval', 'perplexity', ...args], code, error);
  const ids = idsFile('good.ids', [1, 2, 3]);
  assert.match(
    await refused([bare, '--ids', idsFile('one.ids', [5])], 1, 'ERR_PROMPT_EMPTY'),
    /at least two tokens, found 1/,
  );
  assert.match(
    await refused([bare, '--ids', idsFile('high.ids', [5, 6, 2048])], 1, 'ERR_TOKEN_UNKNOWN'),
    /token 2: .*2047, found 2048/,
  );
  assert.match(
    await refused([withTokenizer, '--ids', idsFile('slot.ids', [5, 1999])], 1, 'ERR_TOKEN_UNKNOWN'),
    /token 1: .*found 1999/,
  );
  const latin1 = scratch('latin1.txt');
  writeFileSync(latin1, Buffer.from('caf\xe9 noir', 'latin1'));
  assert.match(
    await refused([withTokenizer, '--text', latin1], 1, 'ERR_INVALID_ARGUMENT'),
    /latin1\.txt: expected UTF-8/,
  );
  const word = scratch('word.ids');
  writeFileSync(word, '1 2 x3');
  assert.match(
    await refused([bare, '--ids', word], 1, 'ERR_INVALID_ARGUMENT'),
    /token 2: expected an id, found "x3"/,
  );
  assert.match(await refused([bare, '--ids', ids, '--seq', '1'], 2, 'ERR_USAGE'), /--seq.*from 2/);
  assert.match(await refused([bare, '--ids', ids, '--stride', '0'], 2, 'ERR_USAGE'), /--stride.*from 1/);
  assert.match(
    await refused([bare, '--ids', ids, '--seq', '8', '--stride', '9'], 2, 'ERR_USAGE'),
    /--stride.*8, found 9/,
  );
  assert.match(await refused([bare], 2, 'ERR_USAGE'), /neither/);
  assert.match(await refused([bare, '--ids', ids, '--text', ids], 2, 'ERR_USAGE'), /both/);
  const empty = scratch('empty.txt');
  writeFileSync(empty, '');
  assert.match(await refused([withTokenizer, '--text', empty], 1, 'ERR_PROMPT_EMPTY'), /empty file/);
  await refused([withTokenizer, '--text', scratch('absent.txt')], 1, 'ERR_FILE_NOT_FOUND');
  await refused([withTokenizer, '--text', root], 1, 'ERR_FILE_IO');
  assert.match(await refused([bare, '--text', ids], 1, 'ERR_TOKENIZER_MISSING'), /--ids/);
  assert.match(await refused([bare, '--ids', ids, '--bos'], 1, 'ERR_TOKENIZER_MISSING'), /BOS/);
});

test('a killed run goes on where it was, to the same bits', async () => {
  const file = idsFile('long.ids', someIds(3000, 2048));
  const args = [
    'eval',
    'perplexity',
    bundled,
    '--ids',
    file,
    '--seq',
    '20',
    '--stride',
    '15',
    '--threads',
    '1',
  ];
  const resume = scratch('windows.jsonl');
  const child = spawn(process.execPath, [program, ...args, '--resume', resume], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  while (
    child.exitCode === null &&
    (!existsSync(resume) || readFileSync(resume, 'utf8').split('\n').length < 6)
  )
    await sleep(5);
  child.kill('SIGKILL');
  await exited;
  const kept = readFileSync(resume, 'utf8');
  const windows = kept.split('\n').length - 2;
  assert.ok(windows >= 4 && windows < 199, `killed after ${windows} windows`);
  // What a power cut may leave: half a line.
  appendFileSync(resume, '{"windows":');
  const found = await json([...args, '--resume', resume]);
  assert.ok(readFileSync(resume, 'utf8').startsWith(kept.slice(0, kept.lastIndexOf('\n') + 1)));
  assert.equal(found, await json(args));
  const complete = readFileSync(resume, 'utf8');
  assert.is(complete.split('\n').length - 2, found['windows']);
  assert.equal(await json([...args, '--resume', resume]), found);
  assert.is(readFileSync(resume, 'utf8'), complete);
});

test('Ctrl-C ends with status 130 and keeps what is done', async () => {
  const file = idsFile('stopped.ids', someIds(3000, 2048));
  const resume = scratch('stopped.jsonl');
  const args = ['eval', 'perplexity', bundled, '--ids', file, '--seq', '20', '--threads', '1'];
  const child = spawn(process.execPath, [program, ...args, '--resume', resume], { stdio: 'ignore' });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  while (
    child.exitCode === null &&
    (!existsSync(resume) || readFileSync(resume, 'utf8').split('\n').length < 4)
  )
    await sleep(5);
  child.kill('SIGINT');
  assert.is((await exited)[0], 130);
  assert.ok(readFileSync(resume, 'utf8').endsWith('}\n'));
});

test("another run's file is refused, naming what differs", async () => {
  const file = idsFile('a.ids', someIds(40, 2048));
  const resume = scratch('a.jsonl');
  const args = ['eval', 'perplexity', bundled, '--ids', file, '--resume', resume, '--seq', '16'];
  await output(args);
  const before = readFileSync(resume, 'utf8');
  const refused = async (more: string[], pattern: RegExp) =>
    assert.match(await failure([...args, ...more], 1, 'ERR_INVALID_ARGUMENT'), pattern);
  await refused(['--seq', '17'], /seq: expected 17 as in this run, found 16/);
  await refused(['--stride', '4'], /stride: expected 4/);
  await refused(['--activations', 'i8'], /activations: expected i8/);
  await refused(['--bos'], /bos: expected true/);
  await refused(['--ids', idsFile('b.ids', someIds(41, 2048))], /ids_sha256/);
  const other = await failure(
    ['eval', 'perplexity', await synthModel('other'), ...args.slice(3)],
    1,
    'ERR_INVALID_ARGUMENT',
  );
  assert.match(other, /model_sha256/);
  assert.is(readFileSync(resume, 'utf8'), before);
  for (const [text, pattern] of [
    ['my notes', /that this command wrote/],
    ['my notes\nmore\n', /that this command wrote/],
    [
      `${before.split('\n')[0] ?? ''}\n{"windows":2,"fed":1,"scored":1,"nats":1,"masked_mass":0}\n`,
      /line 2: .*window 1/,
    ],
  ] as const) {
    writeFileSync(resume, text);
    await refused([], pattern);
    assert.is(readFileSync(resume, 'utf8'), text);
  }
});

test.run();
