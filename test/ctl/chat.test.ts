/** Conversations: their form in the daemon, and the command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { bitnetConfigs } from '../../client/ctl/synth/bitnet/configs.js';
import { makeVocabulary } from '../../client/ctl/synth/bitnet/vocabulary.js';
import type { Client, ChatMessage } from '../../client/index.js';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { failureOf } from '../host/helpers/failure.js';
import { assert, missing, suite } from '../tools/suite.js';
import { scratch, synthModel } from './helpers/models.js';
import { failure, output, program, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl chat');
const { vocabSize, nMerges } = bitnetConfigs['bitnet-tiny'];
const { tokens, bosId } = makeVocabulary(vocabSize, nMerges);
const eot = tokens.indexOf('<|eot_id|>');
const model = 'ternary';
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  await output(['synth', '--config', 'bitnet-tiny', '-o', scratch('ternary.gguf')]);
  const spiking = await synthModel('spiking', { tokenizer: true });
  daemon = await DaemonProcess.start(['--model', scratch('ternary.gguf'), '--model', spiking]);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  await daemon.stop();
});

const encode = (text: string) => client.encode(text, { model });
async function form(messages: ChatMessage[]): Promise<number[]> {
  return (await client.call('tokens.encode', { messages, model, bos: true })).tokens;
}

test('a conversation has the form of 2B4T: role and content apart, <|eot_id|>, the next role with its space', async () => {
  const hello: ChatMessage[] = [
    { role: 'system', content: ' Be brief.\n' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: '\t\u3000Hello! <|eot_id|>\u00a0' },
    { role: 'user', content: '' },
  ];
  const parts = ['System: ', 'Be brief.', 'User: ', 'Hi', 'Assistant: ', 'Hello! <|eot_id|>', 'User: ', ''];
  const expected = [bosId];
  for (const [i, part] of parts.entries()) {
    expected.push(...(await encode(part)));
    if (i % 2 === 1) expected.push(eot);
  }
  expected.push(...(await encode('Assistant: ')));
  assert.equal(await form(hello), expected);
  assert.is(expected.filter((id) => id === eot).length, 4, 'none comes out of a content');
  const space = tokens.indexOf('\u0120');
  assert.equal(expected.at(-1), space);
  assert.is(
    await client.decode(expected, { model }),
    'System: Be brief.User: HiAssistant: Hello! <|eot_id|>User: Assistant: ',
  );
});

test('generates from messages as from their ids, and in a session as in one go', async () => {
  const greedy = { temperature: 0, max_tokens: 6, ignore_eos: true } as const;
  const first: ChatMessage = { role: 'user', content: 'Hi' };
  const then: ChatMessage = { role: 'user', content: 'And?' };
  const ids = await form([first]);
  const { tokens: expected } = await client.generate({ model, tokens: ids, ...greedy }).result;
  assert.equal((await client.generate({ model, messages: [first], ...greedy }).result).tokens, expected);
  const session = await client.openSession({ model });
  await session.append({ messages: [first] });
  const answer = await session.generate(greedy).result;
  assert.equal(answer.tokens, expected);
  const { position } = await session.append({ messages: [then] });
  const end = answer.tokens.at(-1) === eot ? [] : [eot];
  const whole = [...ids, ...answer.tokens, ...end, ...(await form([then])).slice(1)];
  assert.is(position, whole.length);
  const { tokens: second } = await session.generate(greedy).result;
  assert.equal(second, (await client.generate({ model, tokens: whole, ...greedy }).result).tokens);
  await session.close();
});

test('both ends of a turn end a generation', async () => {
  const names = ['<|end_of_text|>', '<|eot_id|>'];
  const others = tokens.flatMap((_, id) => (id === eot || id === bosId + 1 ? [] : [id]));
  for (const name of names) {
    const id = tokens.indexOf(name);
    const banned = [...others, ...names.map((other) => tokens.indexOf(other))].filter(
      (other) => other !== id,
    );
    const result = await client.generate({ model, prompt: 'a', temperature: 0, max_tokens: 5, banned })
      .result;
    assert.equal([result.stop_reason, result.tokens, result.text], ['eos', [id], ''], name);
  }
});

test('refuses what has no form', async () => {
  const messages: ChatMessage[] = [{ role: 'user', content: 'Hi' }];
  const refused = async (params: object, code: string, text: RegExp): Promise<void> => {
    const error = await failureOf(() => client.generate({ model, ...params }).result);
    assert.is(error.code, code);
    assert.match(error.message, text);
  };
  await refused({ model: 'spiking', messages }, 'ERR_MODEL_UNSUPPORTED', /model "spiking".*form of conversations/);
  await refused({ messages, prompt: 'x' }, 'ERR_INVALID_ARGUMENT', /exactly one of "prompt", "tokens" and "messages"/);
  await refused({ messages: [] }, 'ERR_INVALID_ARGUMENT', /messages/);
  await refused({ messages: [{ role: 'tool', content: '' }] }, 'ERR_INVALID_ARGUMENT', /role/);
  await refused({ messages: [{ role: 'user', content: '', name: 'x' }] }, 'ERR_INVALID_ARGUMENT', /name/);
  await refused({ messages: [...messages, { role: 'assistant', content: 'x' }] }, 'ERR_INVALID_ARGUMENT', /the user's, found assistant/);
  await refused({ messages: [{ role: 'user', content: 'x'.repeat(200_000) }, { role: 'user', content: 'x'.repeat(200_000) }] }, 'ERR_TEXT_TOO_LONG', /found 400000/);
  const { models } = await client.call('model.list', {});
  assert.equal(
    models.map(({ info }) => [info?.tokenizer_kind, info?.chat]),
    [['sentencepiece', false], ['byte_bpe', true]],
  );
}); // prettier-ignore

const sampled = ['--max-tokens', '6', '--temperature', '0'];

test('answers one message from standard input', async () => {
  const args = ['chat', model, '--socket', daemon.path, '--system', 'Be brief.', ...sampled];
  const messages: ChatMessage[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ];
  const expected = await client.generate({ model, messages, temperature: 0, max_tokens: 6 }).result;
  const { code, stdout, stderr } = await spikectl(args, { input: 'Hi\n' });
  assert.is(code, 0, stderr);
  assert.is(stdout.trimEnd(), expected.text.trimEnd());
  const lines = (await output([...args, '--json'], { input: 'Hi\n' }))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; tokens?: number[]; appended_tokens?: number });
  assert.equal(lines[0]?.event, 'appended');
  assert.equal(lines[0]?.appended_tokens, expected.prompt_tokens);
  assert.equal([lines.at(-1)?.event, lines.at(-1)?.tokens], ['summary', expected.tokens]);
});

test('a summary says nothing of columns, of which a ternary model leaves none out', async () => {
  const args = ['run', 'Hi', '--model', model, '--socket', daemon.path, ...sampled];
  const { code, stderr } = await spikectl(args);
  assert.is(code, 0, stderr);
  assert.match(stderr, /6 tokens at/);
  assert.not.match(stderr, /active/);
});

test('says what is wrong at once', async () => {
  await failure(['chat', 'spiking', '--socket', daemon.path], 1, 'ERR_MODEL_UNSUPPORTED');
  await failure(['chat', model, '--socket', daemon.path], 1, 'ERR_PROMPT_EMPTY');
});

test.needs(missing('script'), 'on a terminal: remembers, /reset, Ctrl-C ends an answer, Ctrl-D the conversation', async () => {
  const line = [process.execPath, program, 'chat', model, '--socket', daemon.path, '--temperature', '0', '--max-tokens'].join(' ');
  const child = spawn('script', ['-qec', `${line} 5`, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  const keys = ['Hi\r', 'And?\r', '/reset\r', 'Hi\r', '\u0003', '\u0004'];
  let seen = 0;
  child.stdout.on('data', (part: Buffer) => {
    text += part.toString();
    // Where readline puts the cursor behind its prompt.
    const prompts = text.split('\u001b[3G').length - 1;
    if (prompts <= seen || keys.length === 0) return;
    seen = prompts;
    child.stdin.write(keys.shift() ?? '');
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 90_000);
  const [code] = (await once(child, 'close')) as [number];
  clearTimeout(timer);
  assert.is(code, 0, text);
  const summaries = [...text.matchAll(/prompt of (\d+) /g)].map(([, n]) => Number(n));
  assert.is(summaries.length, 3, text);
  const [one = 0, two = 0, three = 0] = summaries;
  assert.ok(two > one + 5, 'the second message comes after the first and its answer');
  assert.is(three, one, 'a new conversation');
  assert.match(text, /a new conversation/);
  assert.match(text, /Ctrl-D ends the conversation/);
}); // prettier-ignore

test.run();
