import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { goldenModel, greedyCases, smallCase } from '../daemon/helpers/models.js';
import { assert, killGroup, root, run, suite, tempDir, type RunResult } from '../tools/suite.js';
import { addonEnv, arm64Node, buildArm64, noArm64Node, runArm64Node, type Cpu } from './arm64.js';

const test = suite('arm64 generate');
const cpu: Cpu = 'cortex-a76';
const program = 'test/arm64/generate-once.js';

interface Answer {
  streamed: number[];
  tokens: number[];
  isa: string;
}

/** A daemon in the arm64 Node; `body` gets its socket. Stops it as an operator would and checks that it ends well. */
async function withDaemon(model: string, body: (socket: string) => Promise<void>): Promise<void> {
  const socket = join(tempDir(), 's');
  const [command, args] = arm64Node(cpu, 'daemon/main.js', [
    '--socket',
    socket,
    '--threads',
    '2',
    '--model',
    model,
  ]);
  const daemon = spawn(command, args, {
    env: { ...process.env, ...addonEnv },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const kill = (): void => {
    killGroup(daemon);
  };
  process.once('exit', kill);
  let log = '';
  daemon.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = once(daemon, 'close');
  try {
    const ready = await Promise.race([once(daemon.stdout, 'data').then(() => true), ended.then(() => false)]);
    assert.ok(ready, log);
    await body(socket);
    daemon.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    assert.is(code, 0, log);
  } finally {
    kill();
    process.off('exit', kill);
  }
}

function answer({ code, stdout, stderr }: RunResult): Answer {
  assert.is(code, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

test.needs(
  noArm64Node,
  'daemon and client in a real arm64 Node give the reference ids, as does a client of this machine',
  async () => {
    const { code, stderr } = await buildArm64();
    assert.is(code, 0, stderr);
    const [first] = greedyCases(smallCase);
    if (first === undefined) throw new Error(`${smallCase} holds no greedy ids`);
    const params = JSON.stringify({ tokens: first.prompt, temperature: 0, max_tokens: first.greedy.length });
    await withDaemon(await goldenModel(smallCase), async (socket) => {
      const there = answer(await runArm64Node(cpu, program, [socket, params]));
      const here = answer(await run(process.execPath, [join(root, 'dist', program), socket, params]));
      for (const { streamed, tokens, isa } of [there, here]) {
        assert.equal(tokens, first.greedy);
        assert.equal(streamed, tokens);
        assert.is(isa, 'neon_dotprod');
      }
    });
  },
);

test.run();
