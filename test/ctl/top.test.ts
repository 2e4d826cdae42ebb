import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { figures } from '../../client/ctl/top/figures.js';
import { frame } from '../../client/ctl/top/frame.js';
import { Metrics, type Snapshot } from '../../client/ctl/top/snapshot.js';
import { parseMetrics } from '../../client/ctl/metrics/parse.js';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { RawClient } from '../daemon/helpers/raw-client.js';
import { assert, missing, suite } from '../tools/suite.js';
import { synthModel } from './helpers/models.js';
import { json, output, program } from './helpers/spikectl.js';

const test = suite('spikectl top');
const [enter, leave] = ['\u001b[?1049h', '\u001b[?25h\u001b[?1049l'];
let model = '';
let daemon: DaemonProcess;

test.before(async () => {
  model = await synthModel('top');
  daemon = await DaemonProcess.start([
    ...['--model', model, '--max-unread-bytes', '4096'],
    ...['--context', '1000000', '--max-tokens', '1000000'],
  ]);
});
test.after(async () => {
  await daemon.stop();
});

/** A moment with these metrics and one stream, of so many tokens. */
function moment(atMs: number, text: string, tokens: number): Snapshot {
  const info = { version: '1', pid: 1, uptime_s: 90, isa: 'neon', threads: 4, cpus: '4-7' };
  const stream = { connection: 1, stream: 'a\u001b[2J', model: 'm', state: 'decode', prompt_tokens: 3 };
  return {
    atMs,
    info: { ...info, models: ['m'], warnings: ['CPU 4: hot; cool it'] } as unknown as Snapshot['info'],
    requests: {
      active: 1,
      waiting: 0,
      requests: [
        { ...stream, state: 'decode', generated_tokens: tokens, max_tokens: 99, age_ns: atMs * 1e6 },
      ],
    },
    metrics: new Metrics(parseMetrics(text)),
  };
}

const early = `spiked_generated_tokens_total 10
spiked_touched_bytes_total{part="kv"} 0
spiked_active_columns_total{part="ffn"} 5
spiked_columns_total{part="ffn"} 50
`;
const late = `spiked_generated_tokens_total 30
spiked_touched_bytes_total{part="kv"} 1e9
spiked_touched_bytes_total{part="head"} 3e9
spiked_active_columns_total{part="ffn"} 10
spiked_columns_total{part="ffn"} 75
spiked_temperature_celsius{zone="soc"} 48.5
spiked_cpu_clock_hertz{cpu="4"} 2.256e9
`;

test('rates are rises over the time between two looks; what has no reading is null', () => {
  const now = figures(moment(1_000, early, 4), moment(3_000, late, 14));
  assert.is(now.tokens_per_s, 10);
  assert.is(now.read_gb_per_s, 2);
  assert.equal(now.active_share, { mixer: null, ffn: 0.2 });
  assert.is(now.streams[0]?.tokens_per_s, 5);
  assert.is(now.rss_bytes, null);
  assert.is(now.inter_token_s, null);
  assert.equal(now.temperatures_celsius, { soc: 48.5 });
  const still = figures(moment(1_000, late, 4), moment(1_000, late, 4));
  assert.is(still.tokens_per_s, null, 'no time, no rate');
});

test('a stream that was not there at the look before has no rate yet, though another had its name', () => {
  const before = moment(3_000, early, 90);
  const now = { ...moment(2_000, late, 4), atMs: 4_000 };
  assert.is(figures(before, now).streams[0]?.tokens_per_s, null);
});

test('people see the figures, the warning, and no control characters of a client', () => {
  const lines = frame(figures(moment(1_000, early, 4), moment(3_000, late, 14)));
  const text = lines.join('\n');
  assert.match(text, /10\.0 tokens\/s/);
  assert.match(text, /48\.5 °C \(soc\)/);
  assert.match(text, /2\.26 GHz/);
  assert.match(text, /warning +CPU 4: hot; cool it/);
  assert.match(text, /a\?\[2J/);
  assert.not.ok(text.includes('\u001b'));
  assert.not.ok(/NaN|undefined|null/.test(text));
});

test('--once --json: one object, with the stream of a client that does not read', async () => {
  const silent = await RawClient.connect(daemon.path);
  silent.socket.pause();
  silent.send(0, 1, 'text.generate', [
    { stream: 'slow', tokens: [1, 2, 3], max_tokens: 900_000, ignore_eos: true },
  ]);
  const client = await daemon.client();
  const deadline = performance.now() + 30_000;
  for (;;) {
    const [request] = (await client.serverRequests()).requests;
    if (request?.state === 'paused') break;
    assert.ok(performance.now() < deadline, `never paused: ${JSON.stringify(request)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await client.close();
  const now = await json(['top', '--once', '--interval', '0.1', '--socket', daemon.path]);
  const [stream] = now['streams'] as Record<string, unknown>[];
  assert.ok(stream);
  assert.is(stream['stream'], 'slow');
  assert.is(stream['state'], 'paused');
  assert.is(stream['prompt_tokens'], 3);
  assert.is(stream['max_tokens'], 900_000);
  assert.ok(Number(stream['generated_tokens']) > 0);
  assert.is(stream['tokens_per_s'], 0);
  assert.ok(Number(now['rss_bytes']) > 1e6);
  silent.socket.destroy();
});

test('a pipe gets one look as plain text', async () => {
  const text = await output(['top', '--interval', '0.1', '--socket', daemon.path]);
  assert.match(text, /^spiked \d/);
  assert.not.ok(text.includes('\u001b'));
});

/** Runs it in a terminal of its own until it has drawn, does something to it, and returns all that the terminal got. */
async function inTerminal(
  path: string,
  act: (type: (keys: string) => void) => void,
): Promise<[string, number]> {
  const command = `${process.execPath} ${program} top --interval 0.1 --socket ${path}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  let acted = false;
  child.stdout.on('data', (part: Buffer) => {
    text += part.toString();
    if (acted || !text.includes('tokens/s')) return;
    acted = true;
    act((keys) => child.stdin.write(keys));
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = (await once(child, 'close')) as [number];
  clearTimeout(timer);
  return [text, code];
}

const noScript = missing('script');

test.needs(noScript, 'in a terminal: Ctrl-C gives the terminal back, status 130', async () => {
  const [text, code] = await inTerminal(daemon.path, (type) => {
    type('\u0003');
  });
  assert.is(code, 130, text);
  assert.ok(text.includes(enter));
  assert.ok(text.endsWith(leave), JSON.stringify(text.slice(-80)));
});

test.needs(noScript, 'in a terminal: so does a daemon that goes away, with its reason', async () => {
  const mortal = await DaemonProcess.start(['--model', model]);
  const [text, code] = await inTerminal(mortal.path, () => void mortal.child.kill('SIGKILL'));
  await mortal.ended;
  assert.is(code, 1, text);
  assert.match(text.slice(text.lastIndexOf(leave)), /ERR_CONNECTION_LOST/);
});

test.run();
