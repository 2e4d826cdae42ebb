import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { combine, configSchema, readConfigFile } from '../../daemon/config-file.js';
import { assert, root, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess, killAll, socketPath } from './helpers/process.js';

const test = suite('configuration file');
let model: string;
const folder = tempDir();
const running: DaemonProcess[] = [];

function configFile(content: object | string): string {
  const path = join(folder, 'config.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function spawn(args: string[], path?: string): DaemonProcess {
  const daemon = DaemonProcess.spawn(args, path);
  running.push(daemon);
  return daemon;
}

test.before(async () => {
  model = await goldenModel(smallCase);
});
test.afterEach(() => killAll(running));

test('its settings are in force, and the command line wins over each', async () => {
  const limits = { max_tokens: 77, max_queue: 3 };
  const config = configFile({ models: [model], loading: 'prefault', log_level: 'warn', limits });
  const daemon = spawn(['--config', config, '--max-queue', '5']);
  await daemon.ready();
  const client = await daemon.client();
  const info = await client.serverInfo();
  assert.equal(info.models, [smallCase]);
  assert.is(info.loading, 'prefault');
  assert.is(info.limits.max_tokens, 77);
  assert.is(info.limits.max_queue, 5);
  assert.is(info.limits.max_active, 4);
  await client.close();
  assert.is((await daemon.stop()).code, 0);
  assert.is(daemon.stderr, '', 'nothing to warn of');
});

test('each mistake names file, key, what was expected and what was found', async () => {
  const cases: [content: object | string, text: RegExp][] = [
    [{ models: [] }, /"models": expected at least 1 items, found an array of 0 items/],
    [{ drain_ms: '5s' }, /"drain_ms": expected number, found "5s"/],
    [{ drainMs: 5 }, /unknown parameter "drainMs"/],
    [{ limits: { max_depth: 1 } }, /"limits"\."max_depth": expected a number at least 4, found 1/],
    [{ limits: { max_width: 1 } }, /unknown parameter "max_width"/],
    [{ socket_mode: 'rw' }, /"socket_mode": expected an octal mode such as "0660", found "rw"/],
    [{ allow_uids: [-1] }, /"allow_uids"\[0\]: expected a number at least 0, found -1/],
    [{ log_level: 'loud' }, /"log_level": expected "fatal" or .*, found "loud"/],
    [[1], /expected object, found an array/],
    ['{"models":', /expected JSON, found /],
    ['', /expected JSON, found /],
  ];
  for (const [content, text] of cases) {
    const path = configFile(content);
    const error: unknown = await readConfigFile(path).catch((thrown: unknown) => thrown);
    assert.instance(error, Error, JSON.stringify(content));
    assert.ok((error as Error).message.startsWith(`${path}: `), (error as Error).message);
    assert.match((error as Error).message, text);
  }
});

test('a mistake, a missing file and a missing model end the program with 78 and one line', async () => {
  const cases: [config: string, text: RegExp][] = [
    [
      configFile({ models: [model], threads: 0 }),
      /config\.json: "threads": expected a number at least 1, found 0\n$/,
    ],
    [join(folder, 'none.json'), /none\.json: expected a configuration file, found ENOENT/],
  ];
  for (const [config, text] of cases) {
    const daemon = spawn(['--config', config]);
    assert.equal(await daemon.ended, { code: 78, signal: null });
    assert.match(daemon.stderr, /^spiked: ERR_CONFIG_INVALID: /);
    assert.match(daemon.stderr, text);
  }
  const none = spawn(['--config', configFile({})]);
  assert.equal(await none.ended, { code: 78, signal: null });
  assert.match(none.stderr, /models: expected --model, or "models" in the file of --config, found neither/);
});

test('what neither says is left to the defaults', () => {
  assert.equal(combine({ models: ['a'], drainMs: 1 }, { models: undefined, drainMs: undefined }), {
    models: ['a'],
    drainMs: 1,
    limits: {},
  });
});

test('a SIGHUP takes over what may change, names what needs a restart, and keeps a broken file out', async () => {
  const path = socketPath();
  const base = { models: [model], limits: { max_tokens: 10 } };
  const config = configFile(base);
  const daemon = spawn(['--config', config], path);
  await daemon.ready();
  const client = await daemon.client();
  const says = async (line: string, from = 0): Promise<void> => {
    const end = Date.now() + 20_000;
    while (!daemon.stderr.slice(from).includes(line)) {
      if (Date.now() > end) throw new Error(`expected ${line} in the log, found ${daemon.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const reloaded = async (content: object | string, line: string): Promise<void> => {
    const before = daemon.stderr.length;
    configFile(content);
    daemon.child.kill('SIGHUP');
    await says(line, before);
  };
  const tokens = (max_tokens: number) =>
    client.generate({ tokens: [1], max_tokens, ignore_eos: true }).result;
  const refused: unknown = await tokens(12).catch((thrown: unknown) => thrown);
  assert.match((refused as Error).message, /at most 10/);

  const limits = { max_tokens: 12, max_text_bytes: 5000 };
  await reloaded({ ...base, limits, loading: 'prefault' }, '"settings":["loading","max_text_bytes"]');
  assert.match(daemon.stderr, /"changed":\["max_tokens"\],"msg":"configuration reloaded"/);
  assert.is((await tokens(12)).generated_tokens, 12);
  assert.is((await client.serverInfo()).limits.max_text_bytes, 262_144, 'the one in force');

  await reloaded('{"models"', 'the configuration stays as it was');
  await reloaded({ ...base, drain_ms: 'long' }, '"drain_ms');
  assert.is((await tokens(12)).generated_tokens, 12);

  // A connection that was there before logs at the new level, too.
  const other = await daemon.client();
  await reloaded({ ...base, limits, log_level: 'debug' }, '"changed":["log_level"]');
  await other.close();
  await says('"msg":"disconnected"');

  // Whoever is connected is held to new limits of messages from the next one on, and to new lists at once.
  const third = await daemon.client();
  const score = () => third.score({ tokens: Array.from({ length: 100 }, () => 1) });
  assert.is((await score()).tokens.length, 100);
  await reloaded({ ...base, limits: { ...limits, max_items: 64 }, log_level: 'debug' }, '"max_items"');
  const long: unknown = await score().catch((thrown: unknown) => thrown);
  assert.match((long as Error).message, /at most 64 items/);
  await third.closed;
  await reloaded(
    { ...base, allow_uids: [4_242_424], log_level: 'debug' },
    '"changed":["allow_uids","max_items","max_tokens"]',
  );
  await client.closed;
  assert.is((await daemon.stop()).code, 0);
});

test('what is no file of a few settings is refused without waiting for it, at the start and by a SIGHUP, and the stop ends', async () => {
  const config = configFile({ models: [model] });
  const daemon = spawn(['--config', config]);
  await daemon.ready();
  const put: [make: (path: string) => void, text: RegExp][] = [
    [(path) => execFileSync('mkfifo', [path]), /something else than a regular file/],
    [(path) => symlinkSync('/dev/zero', path), /something else than a regular file/],
    [(path) => mkdirSync(path), /something else than a regular file/],
    [(path) => symlinkSync(path, path), /ELOOP/],
    [(path) => writeFileSync(path, Buffer.alloc(2 ** 20 + 1, ' ')), /1048577 bytes, more than 1048576/],
  ];
  for (const [make, text] of put) {
    rmSync(config, { recursive: true });
    make(config);
    const before = daemon.stderr.length;
    daemon.child.kill('SIGHUP');
    const end = performance.now() + 20_000;
    while (!text.test(daemon.stderr.slice(before))) {
      assert.ok(performance.now() < end, `expected ${String(text)}, found ${daemon.stderr.slice(before)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const started = spawn(['--config', config]);
    assert.equal(await started.ended, { code: 78, signal: null });
    assert.match(started.stderr, text);
  }
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  rmSync(config);
});

test('the schema file is that of the settings', () => {
  const path = join(root, 'systemd/config.schema.json');
  assert.is(
    readFileSync(path, 'utf8'),
    `${JSON.stringify(configSchema(), null, 2)}\n`,
    'run node dist/test/tools/renew-config-schema.js',
  );
});

test.run();
