/** The package for the board, in a real arm64 Node: its addon, its modules and its model, without the checkout's. */
import { join } from 'node:path';
import { pack, unpack } from '../package/helpers.js';
import { assert, suite } from '../tools/suite.js';
import { buildArm64, buildFolder, noArm64Node, runArm64Node } from './arm64.js';
import { withDaemon } from './daemon.js';

const test = suite('arm64 package');
const cpu = 'cortex-a76';
const env = { SPIKED_ADDON: undefined };

test.needs(noArm64Node, 'its daemon serves its spikectl the bundled model', async () => {
  const { code, stderr } = await buildArm64();
  assert.is(code, 0, stderr);
  const folder = await unpack((await pack('linux-arm64', buildFolder)).archive);
  const ctl = join(folder, 'dist/client/ctl/main.js');
  const version = await runArm64Node(cpu, ctl, ['version', '--json'], { env });
  assert.is(version.code, 0, version.stderr);
  assert.is((JSON.parse(version.stdout) as { isa: string }).isa, 'neon_dotprod');
  const daemon = {
    cpu,
    model: join(folder, 'models/default.gguf'),
    program: join(folder, 'dist/daemon/main.js'),
    env,
  };
  await withDaemon({ ...daemon, cpu }, async (socket) => {
    const args = ['run', 'It was a truth that', '--max-tokens', '4', '--seed', '7', '--socket', socket];
    const said = await runArm64Node(cpu, ctl, args, { env });
    assert.is(said.code, 0, said.stderr);
    assert.match(said.stdout, /[a-z]/);
  });
});

test.run();
