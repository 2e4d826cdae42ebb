import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './paths.js';
import { assert, run, suite, tempDir } from './suite.js';
import { readSummary, type FileOutcome } from './uvu-summary.js';

const test = suite('runner');
const helper = pathToFileURL(join(root, 'dist/test/tools/suite.js')).href;

/** What the runner makes of a test file with this body. */
async function outcomeOf(body: string, timeoutMs = 20_000): Promise<FileOutcome> {
  const file = join(tempDir(), 'planted.mjs');
  writeFileSync(
    file,
    `import { assert, suite } from '${helper}';\nconst test = suite('planted');\n${body}\n`,
  );
  const result = await run(process.execPath, [file], { timeoutMs, env: { NO_COLOR: '1' } });
  return readSummary(result.stdout, result.code === 0);
}

const good = "test('good', () => assert.ok(true));";

test('a good file passes, its skips carry their reasons', async () => {
  const body = `${good}\ntest.skip('later', 'no meter');\ntest.needs('no nvim', 'asks Neovim', () => {});\ntest.run();`;
  const skips = ['planted: later: no meter', 'planted: asks Neovim: no nvim'];
  assert.equal(await outcomeOf(body), { passed: 1, failed: 0, skips });
});

/** Each of these is a way for a broken file to look fine. */
const broken: Record<string, string> = {
  'an assertion that does not hold': `${good}\ntest('bad', () => assert.is(1, 2));\ntest.run();`,
  'a file that never calls run()': good,
  'a file without tests': 'test.run();',
  'a crash while loading': `${good}\nthrow new Error('planted');`,
  'a crash after the summary': `${good}\ntest.run();\nprocess.on('exit', () => process.exit(3));`,
  'exit 0 in the middle of a test': `test('bad', () => process.exit(0));\n${good}\ntest.run();`,
  'a promise that never settles': `test('bad', () => new Promise(() => {}));\ntest.run();`,
  'a broken before hook': `test.before(() => { throw new Error('planted'); });\n${good}\ntest.run();`,
  'a broken after hook': `test.after(() => { throw new Error('planted'); });\n${good}\ntest.run();`,
  'a rejection nobody handles': `${good}\ntest('bad', () => { void Promise.reject(new Error('planted')); });\ntest.run();`,
  'a death by signal': `test('bad', () => process.kill(process.pid, 'SIGKILL'));\ntest.run();`,
};
for (const [name, body] of Object.entries(broken)) {
  test(`${name} counts as failed`, async () => {
    const { failed } = await outcomeOf(body);
    assert.ok(failed > 0, JSON.stringify(await outcomeOf(body)));
  });
}

test('a hanging file is ended and counts as failed', async () => {
  const { failed } = await outcomeOf(
    `test('bad', () => new Promise((r) => setTimeout(r, 60_000)));\ntest.run();`,
    1500,
  );
  assert.is(failed, 1);
});

test('the command ends with the counts, and with status 1 exactly when something failed', async () => {
  const command = [join(root, 'dist/test/run.js'), '--only'];
  const none = await run(process.execPath, [...command, 'no-such-stage']);
  assert.is(none.code, 2);
  assert.match(none.stderr, /no stage and no test file has this name/);
  const one = await run(process.execPath, [...command, 'test/layers/words']);
  assert.is(one.code, 0, one.stdout);
  assert.match(one.stdout, /\n\d+ passed, 0 failed, \d+ skipped\n$/);
});

test.run();
