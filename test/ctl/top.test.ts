import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
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
spiked_memory_reserved_bytes 1.5e6
spiked_memory_weights_bytes 1e6
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
  assert.is(now.model_bytes, null, 'one of its parts is not told');
  assert.equal([now.reserved_bytes, now.budget_bytes], [1.5e6, null]);
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
  assert.match(text, /^reserved +1\.4 MiB of -: - models, - sessions *$/m);
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
  const [models, reserved, budget] = ['model_bytes', 'reserved_bytes', 'budget_bytes'].map((key) =>
    Number(now[key]),
  );
  assert.ok(
    models && reserved && budget && statSync(model).size <= models && models < reserved && reserved < budget,
  );
  silent.socket.destroy();
});

test('a pipe gets one look as plain text', async () => {
  const text = await output(['top', '--interval', '0.1', '--socket', daemon.path]);
  assert.match(text, /^spiked \d/);
  assert.not.ok(text.includes('\u001b'));
});

const command = (path: string): string =>
  `${process.execPath} ${program} top --interval 0.1 --socket ${path}`;

interface Act {
  after: RegExp;
  act: (type: (keys: string) => void) => void;
}

/** Runs a command in a terminal of its own, does something when the terminal got something, and returns all that it got. */
async function inTerminal(line: string, ...acts: Act[]): Promise<[string, number]> {
  const child = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (part: Buffer) => {
    text += part.toString();
    if (!acts[0]?.after.test(text)) return;
    acts.shift()?.act((keys) => child.stdin.write(keys));
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = (await once(child, 'close')) as [number];
  clearTimeout(timer);
  return [text, code];
}

const noScript = missing('script');

test.needs(noScript, 'in a terminal: Ctrl-C gives the terminal back, status 130', async () => {
  const [text, code] = await inTerminal(command(daemon.path), {
    after: /tokens\/s/,
    act: (type) => {
      type('\u0003');
    },
  });
  assert.is(code, 130, text);
  assert.ok(text.includes(enter));
  assert.ok(text.endsWith(leave), JSON.stringify(text.slice(-80)));
});

test.needs(noScript, 'in a terminal: so does a daemon that goes away, with its reason', async () => {
  const mortal = await DaemonProcess.start(['--model', model]);
  const [text, code] = await inTerminal(command(mortal.path), {
    after: /tokens\/s/,
    act: () => void mortal.child.kill('SIGKILL'),
  });
  await mortal.ended;
  assert.is(code, 1, text);
  assert.match(text.slice(text.lastIndexOf(leave)), /ERR_CONNECTION_LOST/);
});

test.needs(
  noScript ?? missing('bash'),
  'in a terminal: Ctrl-Z gives it back until fg draws anew',
  async () => {
    const shell = `bash -mc '${command(daemon.path)}; echo "stopped: $?"; fg'`;
    const [text, code] = await inTerminal(
      shell,
      {
        after: /tokens\/s/,
        act: (type) => {
          type('\u001a');
        },
      },
      {
        after: /stopped: [^]*tokens\/s/,
        act: (type) => {
          type('\u0003');
        },
      },
    );
    assert.is(code, 130, text);
    const [before = '', after = ''] = text.split(/stopped: 148\r\n/);
    for (const part of [before, after]) {
      assert.is(part.split(enter).length, 2, JSON.stringify(text));
      assert.is(part.split(leave).length, 2, JSON.stringify(text));
      assert.ok(part.lastIndexOf(leave) > part.lastIndexOf('tokens/s'), JSON.stringify(text));
    }
  },
);

test.needs(noScript, 'in a terminal: Ctrl-Z does nothing where no shell could continue it', async () => {
  const [text, code] = await inTerminal(
    command(daemon.path),
    {
      after: /tokens\/s/,
      act: (type) => {
        type('\u001a');
      },
    },
    {
      after: /\?1049l[^]*tokens\/s/,
      act: (type) => {
        type('\u0003');
      },
    },
  );
  assert.is(code, 130, text);
  assert.ok(text.endsWith(leave), JSON.stringify(text.slice(-80)));
});

test.run();
