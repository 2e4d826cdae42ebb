/** Clients that nobody here wrote: whoever speaks MessagePack-RPC is served. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { join } from 'node:path';
import { assert, missing, root, run, suite, tempDir, which } from '../tools/suite.js';
import { goldenModel, greedyCases, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('generic clients');
const folder = tempDir();
const [reference] = greedyCases(smallCase).filter(({ tag }) => tag === 'n8');
const prompt = reference?.prompt ?? [];
const expected = (reference?.greedy ?? []).slice(0, 8);
const request = { stream: 1, tokens: prompt, max_tokens: 8, temperature: 0 };
let daemon: DaemonProcess;

test.before(async () => {
  daemon = await DaemonProcess.start(['--model', await goldenModel(smallCase)]);
});
test.after(async () => {
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

interface Transport {
  attach(writer: net.Socket, reader: net.Socket, client: unknown): void;
  request(method: string, args: unknown[], done: (error: unknown, result: unknown) => void): void;
  on(event: 'notification', listener: (method: string, args: unknown[]) => void): void;
}

test('npm neovim, its transport', async () => {
  const load = createRequire(import.meta.url);
  const { Transport } = load('neovim/lib/utils/transport') as { Transport: new () => Transport };
  const socket = net.connect({ path: daemon.path });
  const transport = new Transport();
  transport.attach(socket, socket, {});
  const events: unknown[] = [];
  transport.on('notification', (method, args) => events.push([method, args]));
  const call = (method: string, ...args: unknown[]): Promise<unknown> =>
    new Promise((resolve) => {
      transport.request(method, args, (error, result) => {
        resolve(error ?? result);
      });
    });
  assert.equal(await call('no.such'), await call('no.such'));
  assert.match(
    String(((await call('model.load', { model: 'x' })) as unknown[])[1]),
    /^ERR_MODEL_NOT_FOUND: /,
  );
  const result = (await call('text.generate', request)) as {
    tokens: number[];
    timings: { total_ns: number };
  };
  assert.equal(result.tokens, expected);
  assert.type(result.timings.total_ns, 'number');
  const tokens = events.map((event) => (event as [string, [{ token: number }]])[1][0].token);
  assert.equal(tokens, expected);
  // Its reader takes a connection that this side cuts for an error; the daemon's half of the close ends it in order.
  socket.end();
  await new Promise((resolve) => socket.once('close', resolve));
});

/** A Python that has msgpack: the system's own or the first in PATH. */
async function pythonWithMsgpack(): Promise<string | undefined> {
  for (const python of ['/usr/bin/python3', which('python3')]) {
    if (python === undefined || !existsSync(python)) continue;
    if ((await run(python, ['-c', 'import msgpack'])).code === 0) return python;
  }
  return undefined;
}

const python = await pythonWithMsgpack();
const noPython = python === undefined ? 'python3-msgpack is not installed' : undefined;

test.needs(noPython, 'python3-msgpack: the example of docs/protocol.md, as it stands there', async () => {
  const page = readFileSync(join(root, 'docs/protocol.md'), 'utf8');
  const program = /```python\n([^]*?)```/.exec(page)?.[1] ?? '';
  assert.match(program, /text\.generate/);
  const file = join(folder, 'example.py');
  writeFileSync(file, program);
  const { code, stdout, stderr } = await run(python ?? '', [file, daemon.path], { timeoutMs: 30_000 });
  assert.is(code, 0, stderr);
  assert.is(stdout.trim().split('\n').length, 9);
  assert.match(stdout, /^length$/m);
});

test.needs(noPython, 'python3-msgpack: integers come as integers, ids of 32 bits come back', async () => {
  const file = join(folder, 'integers.py');
  writeFileSync(
    file,
    `import json, msgpack, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
u = msgpack.Unpacker(raw=False)
s.sendall(msgpack.packb([0, 2**32 - 1, "text.generate", [json.loads(sys.argv[2])]]))
seen = []
while not any(m[0] == 1 for m in seen):
    u.feed(s.recv(65536)); seen += list(u)
assert seen[-1][1] == 2**32 - 1 and seen[-1][2] is None, seen[-1]
result = seen[-1][3]
assert all(type(m[2][0]["t_ns"]) is int for m in seen[:-1]), seen
assert type(result["seed"]) is int and type(result["timings"]["total_ns"]) is int, result
assert [m[2][0]["seq"] for m in seen[:-1]] == list(range(len(seen) - 1))
print(json.dumps(result["tokens"]))
`,
  );
  const { code, stdout, stderr } = await run(python ?? '', [file, daemon.path, JSON.stringify(request)], {
    timeoutMs: 30_000,
  });
  assert.is(code, 0, stderr);
  assert.equal(JSON.parse(stdout), expected);
});

test.needs(missing('nvim'), 'Neovim: rpcrequest, rpcnotify, and an error as an exception', async () => {
  const script = join(folder, 't.vim');
  const out = join(folder, 'nvim.json');
  writeFileSync(
    script,
    `let c = sockconnect('pipe', '${daemon.path}', {'rpc': v:true})
let info = rpcrequest(c, 'server.info')
let result = rpcrequest(c, 'text.generate', json_decode('${JSON.stringify(request)}'))
call rpcnotify(c, 'text.cancel', {'stream': 1})
try
  call rpcrequest(c, 'model.load', {'model': 'x'})
  let shown = 'nothing'
catch
  let shown = v:exception
endtry
call writefile([json_encode([info.pid, result.tokens, shown])], '${out}')
qall!
`,
  );
  const { stderr } = await run('nvim', ['-u', 'NONE', '-n', '-es', '-S', script], { timeoutMs: 30_000 });
  assert.ok(existsSync(out), stderr);
  const [pid, tokens, shown] = JSON.parse(readFileSync(out, 'utf8')) as [number, number[], string];
  assert.is(pid, daemon.pid);
  assert.equal(tokens, expected);
  // Neovim 0.7 has a text of its own for every error number but 0 and 1.
  assert.match(
    shown,
    /Error invoking 'model\.load' on channel \d+:\s+(unknown error|ERR_MODEL_NOT_FOUND: model "x")/,
  );
  const after = await RawClient.connect(daemon.path);
  after.send(0, 1, 'server.info', []);
  assert.ok(await after.result(1));
  after.close();
});

test.run();
