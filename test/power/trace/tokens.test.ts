import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectTokens, readTokens, writeTokens } from '../../../power/trace/tokens.js';
import { collect, fails } from '../helpers/traces.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

const test = suite('token files');
const path = join(tempDir(), 'B-S.csv');

test('what was written is read; equal times are two tokens of one step', async () => {
  const times = [9_007_199_254_740_993n, 9_007_199_254_740_993n, 9_007_199_254_740_995n];
  await writeTokens(path, times);
  assert.is(readFileSync(path, 'latin1').split('\n')[1], '0,9007199254740993');
  assert.equal(await collectTokens(path), times);
  await writeTokens(path, []);
  assert.equal(await collectTokens(path), []);
});

test('a file longer than any buffer', async () => {
  const n = 50_000;
  await writeTokens(
    path,
    (function* () {
      for (let i = 0; i < n; i++) yield BigInt(i) * 1_000_003n;
    })(),
  );
  const times = await collectTokens(path);
  assert.is(times.length, n);
  assert.ok(times.every((t, i) => t === BigInt(i) * 1_000_003n));
});

test('the writer refuses times that go back and leaves what was there', async () => {
  await writeTokens(path, [1n, 2n]);
  await fails(
    () => writeTokens(path, [3n, 2n]),
    'ERR_INVALID_ARGUMENT',
    /token 1: expected a time not before 3, found 2/,
  );
  assert.equal(await collectTokens(path), [1n, 2n]);
});

test('the reader refuses everything else with file and line', async () => {
  const cases: [text: string, pattern: RegExp][] = [
    ['', /B-S\.csv:1: expected "seq,t_ns", found an empty file/],
    ['0,1\n', /:1: expected "seq,t_ns", found "0,1"/],
    ['seq,t_ns', /:1: expected a line end/],
    ['seq,t_ns\n0,12\n1,13', /:3: expected a line end, found a line that may be cut off/],
    ['seq,t_ns\n1,12\n', /:2: seq: expected 0, found "1"/],
    ['seq,t_ns\n0,12\n2,13\n', /:3: seq: expected 1/],
    ['seq,t_ns\n0,12\n0,13\n', /:3: seq: expected 1/],
    ['seq,t_ns\n00,12\n', /:2: seq/],
    ['seq,t_ns\n0,12.5\n', /:2: t_ns: expected nanoseconds/],
    ['seq,t_ns\n0,12,\n', /:2: expected 2 fields/],
    ['seq,t_ns\n0,12\n\n', /:3: expected 2 fields/],
    ['seq,t_ns\r\n0,12\r\n', /:1: expected/],
    ['seq,t_ns\n0,12\n1,11\n', /:3: t_ns: expected a time not before 12, found 11/],
  ];
  for (const [text, pattern] of cases) {
    writeFileSync(path, text);
    await fails(() => collect(readTokens(path)), 'ERR_TRACE_INVALID', pattern);
  }
  await fails(() => collectTokens(`${path}.none`), 'ERR_FILE_NOT_FOUND', /expected a file of token times/);
  assert.not.ok(existsSync(`${path}.none`));
});

test.run();
