import { join } from 'node:path';
import { goldenModel, greedyCases, smallCase } from '../daemon/helpers/models.js';
import { assert, root, run, suite, type RunResult } from '../tools/suite.js';
import { buildArm64, noArm64Node, runArm64Node, type Cpu } from './arm64.js';
import { withDaemon } from './daemon.js';

const test = suite('arm64 generate');
const cpu: Cpu = 'cortex-a76';
const program = 'test/arm64/generate-once.js';

interface Answer {
  streamed: number[];
  tokens: number[];
  isa: string;
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
    await withDaemon({ cpu, model: await goldenModel(smallCase) }, async (socket) => {
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
