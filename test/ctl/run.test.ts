import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { assert, root, suite, tempDir } from '../tools/suite.js';
import { synthModel } from './helpers/models.js';
import { failure, json, output, program, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl run, status, models');
let model = '';

test.before(async () => {
  model = await synthModel('run', { tokenizer: true });
});

const alive = (pid: number) => existsSync(`/proc/${String(pid)}`);
const privatePid = (stderr: string) => Number(/private one \(pid (\d+)\)/.exec(stderr)?.[1]);
const sampled = ['--max-tokens', '12', '--seed', '42', '--ignore-eos'];

interface Event {
  event: string;
  seq: number;
  text: string;
  token: number;
  tokens: number[];
  stop_reason: string;
  seed: number;
}

const events = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);

test('starts a private daemon, says so, streams, and leaves no process behind', async () => {
  const { code, stdout, stderr } = await spikectl(['run', 'the hen', '--model', model, ...sampled]);
  assert.is(code, 0, stderr);
  assert.ok(stdout.endsWith('\n') && stdout.length > 5);
  assert.match(stderr, /no daemon is running: started a private one/);
  assert.match(stderr, /12 tokens at [\d.]+ tokens\/s; .*active: mixer [\d.]+ %, .*ended by length, seed 42/);
  const pid = privatePid(stderr);
  assert.ok(pid > 0 && !alive(pid));
  const again = await spikectl(['run', 'the hen', '--model', model, ...sampled]);
  assert.is(again.stdout, stdout);
});

test('--json: one event a token, then the summary, which agree', async () => {
  const lines = events(await output(['run', 'the hen', '--model', model, ...sampled, '--json']));
  const summary = lines.pop();
  assert.is(summary?.event, 'summary');
  assert.is(lines.length, 12);
  assert.equal(
    lines.map(({ seq }) => seq),
    [...lines.keys()],
  );
  assert.equal(
    lines.map(({ token }) => token),
    summary?.tokens,
  );
  assert.ok(summary?.text.startsWith(lines.map(({ text }) => text).join('')));
  assert.equal([summary?.stop_reason, summary?.seed], ['length', 42]);
});

test('--seed keeps 64 bits, --temperature 0 is greedy, --stop ends the text', async () => {
  const seed = '18446744073709551615';
  const big = await output(['run', 'the', '--model', model, '--max-tokens', '2', '--seed', seed, '--json']);
  assert.ok(big.includes(`"seed":${seed}`));
  const greedy = ['run', 'the', '--model', model, '--temperature', '0', '--ignore-eos', '--max-tokens', '24'];
  const text = (await output([...greedy, '--seed', '1'])).trimEnd();
  assert.is((await output([...greedy, '--seed', '2'])).trimEnd(), text);
  const stop = /[a-z]/.exec(text.slice(2))?.[0];
  if (stop === undefined) return;
  const last = events(await output([...greedy, '--stop', stop, '--json'])).at(-1);
  assert.is(last?.stop_reason, 'stop');
  assert.not.ok(last?.text.includes(stop));
});

test('--drafts: the same text, and how many tokens were guessed', async () => {
  const greedy = ['run', 'the hen the hen the hen', '--model', model, '--ignore-eos', '--max-tokens', '40'];
  const plain = await spikectl([...greedy, '--temperature', '0']);
  const found = await spikectl([...greedy, '--temperature', '0', '--drafts']);
  assert.is(found.stdout, plain.stdout);
  assert.match(found.stderr, /; drafts: \d+ of \d+ right, [\d.]+ tokens a pass; /);
  assert.not.match(plain.stderr, /drafts/);
  const drawn = await spikectl([...greedy, '--drafts', '3']);
  assert.match(drawn.stderr, /drafts: off, they need --temperature 0/);
});

test('Ctrl-C cancels in the daemon: summary, exit status 130, no process left', async () => {
  const args = [program, 'run', 'the', '--model', model, '--max-tokens', '900', '--ignore-eos', '--json'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, SPIKED_SOCKET: '/nonexistent/spiked.sock' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    if (stdout === '') child.kill('SIGINT');
    stdout += part;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  assert.is(code, 130, stderr);
  assert.is(events(stdout).at(-1)?.stop_reason, 'cancelled');
  assert.not(alive(privatePid(stderr)));
});

test('a command that is killed takes its daemon with it', async () => {
  const args = [program, 'run', 'the', '--model', model, '--max-tokens', '900', '--ignore-eos'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, SPIKED_SOCKET: '/nonexistent/spiked.sock' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  await once(child.stdout, 'data');
  child.stdout.resume();
  child.kill('SIGKILL');
  await once(child, 'close');
  const pid = privatePid(stderr);
  for (let i = 0; alive(pid) && i < 1000; i++) await sleep(10);
  assert.not(alive(pid));
});

test('a running daemon is used; status and models show it', async () => {
  const socket = join(tempDir(), 's');
  const daemon = spawn(
    process.execPath,
    [join(root, 'dist/daemon/main.js'), '--socket', socket, '--model', model, '--cpus', 'none', '--prefault'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  try {
    await once(daemon.stdout, 'data');
    const { stderr, stdout } = await spikectl(['run', 'the hen', '--socket', socket, ...sampled]);
    assert.not.match(stderr, /private/);
    const usual = await spikectl(['run', 'the hen', ...sampled], { env: { SPIKED_SOCKET: socket } });
    assert.is(usual.stdout, stdout);
    const status = await json(['status', '--socket', socket]);
    assert.equal([status['pid'], status['models']], [daemon.pid, ['run']]);
    assert.equal([status['cpus'], status['loading']], ['none', 'prefault']);
    assert.match(await output(['status', '--socket', socket]), /models +run/);
    const { models } = await json(['models', '--socket', socket]);
    assert.equal(
      (models as { name: string; loaded: boolean }[]).map(({ name, loaded }) => [name, loaded]),
      [['run', true]],
    );
    assert.match(await output(['models', '--socket', socket]), /run +loaded +default/);
    const other = await synthModel('other', { tokenizer: true });
    const elsewhere = await spikectl(['run', 'the', '--model', other, ...sampled], {
      env: { SPIKED_SOCKET: socket },
    });
    assert.is(elsewhere.code, 0, elsewhere.stderr);
    assert.match(elsewhere.stderr, /the running daemon may not use this file: started a private one/);
  } finally {
    daemon.kill();
    await once(daemon, 'close');
  }
});

test('no daemon, a missing model and a bad prompt are told apart', async () => {
  const nowhere = ['--socket', '/nonexistent/spiked.sock'];
  await failure(['status', ...nowhere], 4, 'ERR_DAEMON_NOT_RUNNING');
  await failure(['models', ...nowhere], 4, 'ERR_DAEMON_NOT_RUNNING');
  await failure(['run', 'the', ...nowhere], 4, 'ERR_DAEMON_NOT_RUNNING');
  await failure(['run', 'the', '--model', '/nonexistent.gguf'], 1, 'ERR_FILE_NOT_FOUND');
  await failure(['run', 'the', '--model', program.replace('main.js', 'run.js')], 1, 'ERR_MODEL_INVALID');
  await failure(['status', '--socket', `/${'x'.repeat(200)}`], 1, 'ERR_SOCKET_PATH');
});

test.run();
