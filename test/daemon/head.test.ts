/** Heads over the wire: the same tokens where they must be, traces, totals, refusals. */
import { join } from 'node:path';
import type { Client, GenerateParams, HeadEvent, TokenEvent } from '../../client/index.js';
import { assert, root, suite } from '../tools/suite.js';
import { failureOf } from '../host/helpers/failure.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('head of text.generate');
const prompt: GenerateParams = { prompt: 'It was a truth', max_tokens: 24, ignore_eos: true, seed: 11 };
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  const bare = await goldenModel(smallCase, { name: 'bare' });
  daemon = await DaemonProcess.start(['--model', join(root, 'models/default.gguf'), '--model', bare]);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

async function generate(params: GenerateParams) {
  const generation = client.generate(params);
  const order: string[] = [];
  const heads: HeadEvent[] = [];
  const events: TokenEvent[] = [];
  generation.onHead = (event) => {
    heads.push(event);
    order.push(`head ${event.seq}`);
  };
  for await (const event of generation) events.push(event);
  return { heads, events, order, result: await generation.result };
}

test('certified gives the tokens of full, greedy and drawn from the top k', async () => {
  for (const sampling of [{ temperature: 0 }, { temperature: 0.8, top_k: 5 }, { repetition_penalty: 1.2 }]) {
    const params = { ...prompt, ...sampling };
    const full = await generate(params);
    const found = await generate({ ...params, head: { mode: 'certified' } });
    assert.equal(found.result.tokens, full.result.tokens);
    const { head } = found.result;
    assert.equal([head.mode, head.steps, head.full_steps, head.proved], ['certified', 24, 0, 24]);
    assert.equal([full.result.head.mode, full.result.head.rows], ['full', 24 * 2048]);
    assert.is(found.heads.length, 0, 'no trace unless asked for');
  }
});

test('a trace has one record a token, and the totals are their sums', async () => {
  const head = { mode: 'gate', k: 16, threshold: 2, trace: true } as const;
  const { heads, events, result } = await generate({ ...prompt, temperature: 0, head });
  assert.equal(
    heads.map(({ seq }) => seq),
    events.map(({ seq }) => seq),
  );
  assert.equal(
    heads.map(({ token }) => token),
    result.tokens,
  );
  const sum = (pick: (event: HeadEvent) => number) => heads.reduce((total, event) => total + pick(event), 0);
  for (const key of [
    'rows',
    'projection_ns',
    'prior_ns',
    'selection_ns',
    'verification_ns',
    'bytes',
  ] as const)
    assert.is(
      result.head[key],
      sum((event) => event[key]),
      key,
    );
  assert.is(
    result.head.triggered,
    sum((event) => Number(event.triggered)),
  );
  assert.ok(result.head.triggered > 0 && result.head.rows === 16 * result.head.triggered);
  assert.is(result.head.row_reduction_percent, 100 * (1 - 16 / 2048));
  for (const event of heads) assert.is(event.triggered, event.gap !== null && event.gap < 2);
});

test('logprobs need every row: the steps say that they ran full', async () => {
  const { result, events } = await generate({ ...prompt, logprobs: true, head: { mode: 'certified' } });
  assert.is(result.head.full_steps, 24);
  assert.ok(events.every(({ logprob }) => logprob !== undefined && logprob <= 0));
});

test('what a model cannot serve is refused before it waits; the daemon goes on', async () => {
  const refused = async (params: Partial<GenerateParams>) =>
    failureOf(() => client.generate({ ...prompt, ...params }).result);
  const cases: [Partial<GenerateParams>, string, RegExp][] = [
    [{ model: 'bare', prompt: undefined, tokens: [1], head: { mode: 'gate' } }, 'ERR_MODEL_UNSUPPORTED', /"gate" needs int8/],
    [{ head: { mode: 'gate', k: 0 } }, 'ERR_INVALID_ARGUMENT', /"head"\."k"/],
    [{ head: { mode: 'gate', k: 2049 } }, 'ERR_INVALID_ARGUMENT', /head\.k: expected 1 to 2048 rows, found 2049/],
    [{ head: { mode: 'gate', threshold: -1 } }, 'ERR_INVALID_ARGUMENT', /"head"\."threshold"/],
    [{ head: { mode: 'gate', threshold: NaN } }, 'ERR_INVALID_ARGUMENT', /"head"\."threshold"/],
    [{ head: { mode: 'best' as 'full' } }, 'ERR_INVALID_ARGUMENT', /"head"\."mode"/],
    [{ head: { rows: 3 } as object }, 'ERR_INVALID_ARGUMENT', /rows/],
  ]; // prettier-ignore
  for (const [params, code, text] of cases) {
    const error = await refused(params);
    assert.is(error.code, code, error.message);
    assert.match(error.message, text);
  }
  assert.is((await generate({ ...prompt, max_tokens: 1 })).result.tokens.length, 1);
});

test.run();
