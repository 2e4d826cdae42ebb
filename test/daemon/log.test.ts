/** What the log says, and what it never says. */
import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { daemonProgram, DaemonProcess, killAll, socketPath } from './helpers/process.js';

const test = suite('log');
const secret = 'xylophone';
let model: string;
const running: DaemonProcess[] = [];

test.before(async () => {
  model = await goldenModel(smallCase, { tokenizer: true });
});
test.afterEach(() => killAll(running));

/** A daemon whose stderr is a file that the environment calls the journal, or does not. */
async function withLog(
  journal: boolean,
  args: string[],
  use: (daemon: DaemonProcess) => Promise<void>,
): Promise<string[]> {
  const file = join(tempDir(), 'log');
  const fd = openSync(file, 'a');
  const { dev, ino } = fstatSync(fd, { bigint: true });
  const path = socketPath();
  const all = [daemonProgram, '--socket', path, '--threads', '1', '--no-self-test', ...args];
  const child = spawn(process.execPath, all, {
    stdio: ['pipe', 'pipe', fd],
    env: { ...process.env, JOURNAL_STREAM: `${String(dev)}:${String(journal ? ino : ino + 1n)}` },
  });
  closeSync(fd);
  const daemon = new DaemonProcess(child, path);
  running.push(daemon);
  await use(daemon);
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

/** Some of everything that a client can ask, its texts all the same word; then the end. */
async function ask(daemon: DaemonProcess): Promise<void> {
  await daemon.ready();
  const client = await daemon.client();
  const tokens = await client.encode(secret);
  await client.generate({ prompt: secret, max_tokens: 3, ignore_eos: true, seed: 1 }).result;
  await client.generate({ prompt: secret, max_tokens: 0 }).result.catch(() => undefined);
  await client.decode(tokens);
  await client.score({ prompt: secret });
  await client.close();
  assert.is((await daemon.stop()).code, 0);
}

test('in the journal every line has its priority, and no line a time', async () => {
  const lines = await withLog(true, ['--model', model, '--log-level', 'trace'], ask);
  for (const line of lines) assert.match(line, /^<[2-7]>[a-z]/);
  assert.not.match(lines.join('\n'), /\btime=|\d{4}-\d\d-\d\dT/);
  const generated = lines.filter((line) => line.includes(' method=text.generate outcome=ok '));
  assert.is(generated.length, 1);
  assert.match(
    generated[0] ?? '',
    /^<6>request connection=1 uid=\d+ method=text\.generate outcome=ok ms=[\d.]+ prompt_tokens=\d+ cached_tokens=0 generated_tokens=3 queued_ms=[\d.]+ stop_reason=length$/,
  );
  assert.match(
    lines.join('\n'),
    /^<6>request .*method=text\.generate outcome=ERR_INVALID_ARGUMENT ms=[\d.]+$/m,
  );
  assert.is(lines.filter((line) => line.startsWith('<6>connected ')).length, 1);
});

test('elsewhere every line is JSON with a time', async () => {
  const lines = await withLog(false, ['--model', model], ask);
  for (const line of lines) {
    const { time, msg } = JSON.parse(line) as { time: string; msg: string };
    assert.ok(!Number.isNaN(Date.parse(time)) && msg.length > 0, line);
  }
  const requests = lines.filter((line) => line.includes('"msg":"request"'));
  assert.is(requests.length, 5, requests.join('\n'));
});

test('texts are in it when they are asked for, and only then', async () => {
  const without = await withLog(true, ['--model', model, '--log-level', 'trace'], ask);
  assert.not.match(without.join('\n'), secret);
  const wanted = await withLog(true, ['--model', model, '--log-text'], ask);
  assert.match(wanted.join('\n'), new RegExp(`method=text\\.generate outcome=ok .* input=${secret} output=`));
  assert.match(wanted.join('\n'), new RegExp(`method=tokens\\.decode outcome=ok .* output=${secret}`));
});

test('what ends the start has a priority, too, one on each line', async () => {
  const lines = await withLog(true, ['--model', '/no/such.gguf'], async (daemon) => {
    assert.is((await daemon.ended).code, 3);
  });
  assert.is(lines.length, 1);
  assert.match(lines[0] ?? '', /^<3>spiked: ERR_FILE_NOT_FOUND: /);
});

test.run();
