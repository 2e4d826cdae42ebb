import { SpikedError } from '../../../client/protocol/errors.js';
import { analyze } from '../../../power/report/analyze.js';
import { assert, suite, tempDir } from '../../tools/suite.js';
import { pair } from '../helpers/experiments.js';
import { syntheticFiles, writeFiles, type Files } from '../helpers/synthetic.js';

const test = suite('analyze: damaged folders');
const whole = syntheticFiles({ ...pair, blocks: 1, tokens: 120 });

/** Analyses the folder after a change to its files. */
async function analyzed(change: (files: Files) => void): Promise<ReturnType<typeof analyze>> {
  const files = new Map(whole);
  change(files);
  return analyze(await writeFiles(tempDir(), files));
}

async function refused(change: (files: Files) => void, ...expected: RegExp[]): Promise<void> {
  let error: unknown;
  await analyzed(change).catch((thrown: unknown) => (error = thrown));
  if (!(error instanceof SpikedError)) throw new Error(`expected a refusal, found ${String(error)}`);
  assert.is(error.code, 'ERR_EXPERIMENT_INVALID', error.message);
  for (const pattern of expected) assert.match(error.message, pattern);
}

/** Changes line `n`, from 1, of a file. */
function line(name: string, n: number, edit: (text: string) => string): (files: Files) => void {
  return (files) => {
    const lines = (files.get(name) ?? '').split('\n');
    lines[n - 1] = edit(lines[n - 1] ?? '');
    files.set(name, lines.join('\n'));
  };
}

const journal = 'journal.jsonl';
const samples = 'parts/001/trace/samples.csv';
const runLine = (whole.get(journal) ?? '').split('\n').findIndex((text) => text.includes('"kind":"run"')) + 1;

test('a missing file is named', async () => {
  for (const name of ['plan.json', journal, samples, 'parts/001/trace/trace.json', 'runs/1-2.csv'])
    await refused((files) => files.delete(name), new RegExp(name.replaceAll('.', '\\.')));
});

test('a damaged line is named with its number', async () => {
  await refused(
    line(journal, 3, () => '{"kind":'),
    /journal\.jsonl.*\b3\b/,
  );
  await refused(
    line(journal, 2, () => '{"kind":"dream","part":1}'),
    /journal\.jsonl.*\b2\b/,
  );
  await refused(
    line(samples, 7, (text) => text.replace(/,\d+/, ',many')),
    /samples\.csv:7/,
  );
  await refused(
    line(samples, 9, (text) => text.replace(/^\d+/, '1')),
    /samples\.csv:9/,
  );
  await refused(
    line('runs/1-1.csv', 5, () => '3;1'),
    /runs\/1-1\.csv:5/,
  );
});

test('a journal that contradicts itself, the plan or the token marks is refused with what was expected', async () => {
  const edit = (from: string | RegExp, to: string) =>
    line(journal, runLine, (text) => text.replace(from, to));
  await refused(edit(/"arm":"\w+"/, '"arm":"k64"'), new RegExp(`line ${runLine}.*"k64"`));
  await refused(edit('"slot":0', '"slot":2'), /slot: expected 0, found 2/);
  await refused(edit('"block":1', '"block":9'), /place of the plan/);
  await refused(edit('"tokens":120', '"tokens":119'), /runs\/1-0\.csv: expected 119 tokens.*found 120/);
  await refused(edit(/"answered_ns":"\d+"/, '"answered_ns":"5"'), /answered_ns/);
  await refused((files) => {
    files.set('plan.json', (files.get('plan.json') ?? '').replace('"seed": 1', '"seed": 2'));
  }, /plan was changed/);
});

test('a path that leads out of the folder is refused', async () => {
  await refused(
    line(journal, runLine, (text) => text.replace('runs/1-0.csv', '../../etc/passwd')),
    /journal\.jsonl/,
  );
});

test('a block is done only with all of its runs', async () => {
  await refused((files) => {
    const lines = (files.get(journal) ?? '').split('\n');
    lines.splice(runLine + 2, 1);
    files.set(journal, lines.join('\n'));
  }, /expected 4 runs|slot: expected/);
});

test('a torn last line is dropped, and said so', async () => {
  const result = await analyzed((files) => {
    files.set(journal, (files.get(journal) ?? '').slice(0, -9));
  });
  assert.is(result.ended, 'unfinished');
  assert.is(result.runs.length, 4);
  assert.ok(result.blocks[0]?.used);
  assert.ok(result.notes.some((note) => note.includes('journal.jsonl was cut off')));
});

test('a journal that ends in the middle of a block keeps its runs and uses none', async () => {
  const result = await analyzed((files) => {
    const lines = (files.get(journal) ?? '').split('\n').slice(0, runLine + 2);
    files.set(journal, `${lines.join('\n')}\n`);
  });
  assert.is(result.runs.length, 3);
  assert.ok(result.runs.every(({ used }) => !used));
  assert.is(result.verdicts[0]?.verdict.verdict, 'not enough valid blocks');
  assert.is(result.verdicts[0]?.verdict.ratio, null);
  assert.is(result.arms[0]?.j_per_token, null);
});

test.run();
