import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError } from '../../../client/protocol/errors.js';
import { pastOf, readFolder } from '../../../power/experiment/folder.js';
import { Journal, readJournal } from '../../../power/experiment/journal.js';
import { parsePlan, planText } from '../../../power/experiment/read-plan.js';
import type { JournalEntry } from '../../../power/experiment/record.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

const test = suite('journal');
const base = tempDir();
let folders = 0;
const fresh = () => {
  const folder = join(base, String(folders++));
  mkdirSync(folder);
  return folder;
};
const machine = { celsius: 40, governors: [], clocks_mhz: [2400], throttled: false, other_load: null };
const block = (number: number, done: boolean): JournalEntry => ({
  kind: 'block',
  part: 1,
  block: number,
  done,
});
const run = (
  number: number,
  slot: number,
  arm = 'a',
  reasons: { reason: 'throttled'; text: string }[] = [],
): JournalEntry => ({
  kind: 'run',
  part: 1,
  block: number,
  slot,
  arm,
  sent_ns: '1',
  answered_ns: '2',
  tokens: 80,
  requests: 1,
  ids_sha256: `ids of ${arm}`,
  marks: `runs/${number}-${slot}.csv`,
  before: machine,
  after: machine,
  reasons,
});

test('gives back what was added, and drops a line that a power cut tore', async () => {
  const folder = fresh();
  const journal = await Journal.open(folder);
  const entries = [run(1, 0), block(1, true)];
  for (const entry of entries) await journal.add(entry);
  await journal.close();
  appendFileSync(join(folder, 'journal.jsonl'), '{"kind":"block","part":1,"blo');
  assert.equal(await readJournal(folder), entries);
  // Whoever goes on writes after the last whole line.
  const again = await Journal.open(folder);
  await again.add(block(2, true));
  await again.close();
  assert.equal(await readJournal(folder), [...entries, block(2, true)]);
});

for (const [what, line, message] of [
  ['no JSON', 'x', 'line 1: expected JSON, found another text'],
  ['an unknown kind', '{"kind":"pause","part":1}', 'line 1: kind: expected '],
  [
    'a wrong value',
    '{"kind":"block","part":1,"block":0,"done":true}',
    'line 1: block: expected at least 1, found 0',
  ],
  [
    'marks outside of the folder',
    JSON.stringify({ ...run(1, 0), marks: '../x.csv' }),
    'line 1: marks: expected ',
  ],
] as const)
  test(`refuses ${what} with file and line`, async () => {
    const folder = fresh();
    writeFileSync(join(folder, 'journal.jsonl'), `${line}\n`);
    const error = await readJournal(folder).catch((thrown: unknown) => thrown);
    assert.is((error as SpikedError).code, 'ERR_EXPERIMENT_INVALID');
    assert.ok((error as SpikedError).message.includes(message), String(error));
  });

test('knows what is left: whole blocks, attempts, tokens, ids, the end', () => {
  const past = pastOf([
    { kind: 'pilot', part: 1, tokens: 120, tokens_per_second: { a: 5 } },
    ...[0, 1, 2, 3].map((slot) => run(1, slot)),
    block(1, true),
    run(2, 0, 'b', [{ reason: 'throttled', text: 'hot' }]),
    block(2, false),
    run(2, 0),
    run(2, 1),
  ]);
  assert.equal([...past.done], [1]);
  assert.equal([...past.attempts], [[1, 1], [2, 2]]); // prettier-ignore
  assert.is(past.pilot?.tokens, 120);
  assert.equal([...past.ids], [['a', 'ids of a']]);
  assert.not(past.complete);
  assert.ok(pastOf([{ kind: 'end', part: 1, how: 'complete' }]).complete);
  assert.not(pastOf([{ kind: 'end', part: 1, how: 'aborted' }]).complete);
});

test('goes on only with the same plan, and starts only where nothing is', async () => {
  const plan = parsePlan(
    { name: 'p', prompt: 'x', tokens: 80, arms: [{ name: 'a' }, { name: 'b' }] },
    'p.json',
  );
  const folder = fresh();
  const refused = async (resume: boolean, of = plan) => {
    const error = await readFolder(folder, of, resume).catch((thrown: unknown) => thrown);
    assert.instance(error, SpikedError);
    assert.is((error as SpikedError).code, 'ERR_EXPERIMENT_INVALID');
    return (error as SpikedError).message;
  };
  assert.is((await readFolder(folder, plan, false)).parts, 0);
  assert.match(await refused(true), /expected an experiment to go on with, found no plan\.json/);
  writeFileSync(join(folder, 'plan.json'), planText(plan));
  assert.match(await refused(false), /found an experiment: --resume goes on with it/);
  assert.is((await readFolder(folder, plan, true)).parts, 0);
  assert.match(
    await refused(true, { ...plan, blocks: 2 }),
    /found a difference in blocks: expected 6, found 2/,
  );
  assert.is(readFileSync(join(folder, 'plan.json'), 'utf8'), planText(plan));
});

test.run();
