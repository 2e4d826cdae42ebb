import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, sharedDir, suite } from '../tools/suite.js';
import { scratch, synthModel } from './helpers/models.js';
import { failure, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl tokens');
const shared = sharedDir();
let model = '';

test.before(async () => {
  model = await synthModel('tokens', { tokenizer: true });
});

async function convert(
  file: string,
  lines: string[],
): Promise<{ answers: unknown[]; code: number | null; stderr: string }> {
  const { stdout, stderr, code } = await spikectl(['tokens', file, '--json-lines'], {
    input: lines.join('\n'),
  });
  return {
    answers: stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    code,
    stderr,
  };
}

test('text becomes ids and ids become that text, in order, from a model and from a .model file', async () => {
  const texts = ['the hen', 'in a bin', '', 'naïve 🙂', 'two\nlines'];
  for (const file of [model, scratch('tiny.model')]) {
    const { answers: ids, code } = await convert(
      file,
      texts.map((text) => JSON.stringify(text)),
    );
    assert.is(code, 0);
    assert.is(ids.length, texts.length);
    for (const list of ids)
      assert.ok(Array.isArray(list) && list.every((id) => Number.isInteger(id) && id !== 1));
    const back = await convert(
      file,
      ids.map((list) => JSON.stringify(list)),
    );
    assert.equal(back.answers, texts);
  }
});

test('a bad line is answered with null and named; the others still count; exit status 1', async () => {
  const { answers, code, stderr } = await convert(model, [
    '"the"',
    'nonsense',
    '{}',
    '[5000]',
    '[1.5]',
    '"in"',
  ]);
  assert.is(code, 1);
  assert.equal(
    answers.map((answer) => answer === null),
    [false, true, true, true, true, false],
  );
  const lines = stderr.trimEnd().split('\n');
  assert.equal(
    lines.map((line) => /^spikectl: (ERR_\w+): line (\d): ./.exec(line)?.slice(1, 3)),
    [
      ['ERR_INVALID_ARGUMENT', '2'],
      ['ERR_INVALID_ARGUMENT', '3'],
      ['ERR_TOKEN_UNKNOWN', '4'],
      ['ERR_INVALID_ARGUMENT', '5'],
    ],
  );
});

test('a model without a tokenizer and a file that is none are refused', async () => {
  await failure(['tokens', await synthModel('bare'), '--json-lines'], 1, 'ERR_TOKENIZER_MISSING');
  await failure(
    ['tokens', join(import.meta.dirname, 'tokens.test.js'), '--json-lines'],
    1,
    'ERR_TOKENIZER_INVALID',
  );
  await failure(['tokens', scratch('absent'), '--json-lines'], 1, 'ERR_FILE_NOT_FOUND');
  await failure(['tokens', model], 2, 'ERR_USAGE');
});

interface Case {
  text: string;
  '08b': { ids: number[] };
}

test.needs(
  shared === undefined ? 'no shared/ beside the checkout' : undefined,
  'the released tokenizer gives the reference ids',
  async () => {
    const folder = shared ?? '';
    const { cases } = JSON.parse(readFileSync(join(folder, 'golden/tokenizer_cases.json'), 'utf8')) as {
      cases: Case[];
    };
    const { answers, code } = await convert(
      join(folder, 'tokenizers/symboliclight-0.8b.model'),
      cases.map(({ text }) => JSON.stringify(text)),
    );
    assert.is(code, 0);
    assert.equal(
      answers,
      cases.map((entry) => entry['08b'].ids),
    );
  },
);

test.run();
