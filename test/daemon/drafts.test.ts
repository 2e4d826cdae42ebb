/** Drafts over the wire: the tokens, texts and sessions of requests without them, and what the summary says. */
import { join } from 'node:path';
import { parseMetrics } from '../../client/ctl/metrics/parse.js';
import type { Client, GenerateParams } from '../../client/index.js';
import { assert, root, suite } from '../tools/suite.js';
import { failureOf } from '../host/helpers/failure.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('drafts of text.generate and session.generate');
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  daemon = await DaemonProcess.start(['--model', join(root, 'models/default.gguf')]);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

const line = 'He took his hat, and he took his stick, and he took his coat. ';
const prompt: GenerateParams = { prompt: line.repeat(3), temperature: 0, ignore_eos: true, max_tokens: 90 };

const generate = (params: GenerateParams) => client.generate(params).result;

test('the tokens and text of a request without drafts, from fewer passes, and how many', async () => {
  for (const head of [{ mode: 'full' }, { mode: 'certified' }] as const) {
    const plain = await generate({ ...prompt, head });
    assert.is(plain.drafts, null);
    for (const [drafts, longest] of [
      [true, 7],
      [{ max_draft: 2 }, 2],
      [{}, 7],
    ] as const) {
      const found = await generate({ ...prompt, head, drafts });
      assert.equal([found.tokens, found.text], [plain.tokens, plain.text]);
      assert.equal(found.activity, plain.activity);
      assert.equal([found.head.rows, found.head.steps], [plain.head.rows, plain.head.steps]);
      assert.ok(found.drafts);
      const { passes, unmatched, proposed, accepted, accepted_lengths: lengths, off } = found.drafts;
      assert.is(off, null);
      assert.is(lengths.length, 8);
      assert.is(
        lengths.reduce((sum, n) => sum + n, 0),
        passes,
      );
      assert.is(
        lengths.reduce((sum, n, i) => sum + i * n, 0),
        accepted,
      );
      // Every token but the prompt's comes from a pass or was guessed.
      assert.is(passes + accepted, 89);
      assert.ok(accepted > 0 && accepted <= proposed && unmatched <= passes && passes < 89);
      assert.ok(lengths.slice(longest + 1).every((n) => n === 0));
    }
  }
});

test('off where ids are drawn, want log-probabilities, or a session has stop strings; and it says why', async () => {
  const drafts = true;
  assert.is((await generate({ ...prompt, drafts, temperature: 0.5 })).drafts?.off, 'temperature');
  const logged = await generate({ ...prompt, drafts, logprobs: true });
  assert.equal(logged.drafts, {
    ...{ passes: 0, unmatched: 0, proposed: 0, accepted: 0, off: 'logprobs' },
    accepted_lengths: [0, 0, 0, 0, 0, 0, 0, 0],
  });
  const session = await client.openSession();
  await session.append(line.repeat(2));
  const stopped = await session.generate({ temperature: 0, max_tokens: 8, drafts, stop: ['###'] }).result;
  assert.is(stopped.drafts?.off, 'stop');
  await session.close();
});

test('a stop string ends the text where it does without drafts', async () => {
  const whole = await generate(prompt);
  for (let at = 5; at < whole.text.length - 4; at += 23) {
    const params = { ...prompt, stop: [whole.text.slice(at, at + 3)] };
    const plain = await generate(params);
    const found = await generate({ ...params, drafts: true });
    assert.equal([found.text, found.tokens, found.stop], [plain.text, plain.tokens, plain.stop]);
  }
});

test('a session goes on after drafts as one without: more text, a fork, draws', async () => {
  const said: unknown[] = [];
  for (const drafts of [false, true]) {
    const session = await client.openSession({ seed: 5 });
    await session.append(line.repeat(2));
    const own: unknown[] = [];
    for (const max_tokens of [1, 2, 9, 33]) {
      const { tokens, text } = await session.generate({
        temperature: 0,
        ignore_eos: true,
        max_tokens,
        drafts,
      }).result;
      own.push(tokens, text);
    }
    const fork = await session.fork();
    await session.append(' And');
    for (const one of [session, fork])
      own.push((await one.generate({ temperature: 1, ignore_eos: true, max_tokens: 12 }).result).tokens);
    await fork.close();
    await session.close();
    said.push(own);
  }
  assert.equal(said[1], said[0]);
});

test('server.metrics counts them; what is no draft is refused', async () => {
  const read = async (name: string): Promise<number> =>
    parseMetrics(await client.serverMetrics()).find((sample) => sample.name === name)?.value ?? NaN;
  const names = ['passes', 'proposed', 'accepted'].map((name) => `spiked_draft_${name}_total`);
  const before = await Promise.all(names.map(read));
  const { drafts } = await generate({ ...prompt, drafts: true });
  const after = await Promise.all(names.map(read));
  assert.equal(
    after.map((value, i) => value - (before[i] ?? NaN)),
    [drafts?.passes, drafts?.proposed, drafts?.accepted],
  );
  for (const wrong of [{ max_draft: 0 }, { max_draft: 8 }, { most: 3 }, 3]) {
    const params = { ...prompt, drafts: wrong } as unknown as GenerateParams;
    assert.is((await failureOf(() => generate(params))).code, 'ERR_INVALID_ARGUMENT');
  }
});

test.run();
