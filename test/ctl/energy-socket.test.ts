/** `energy run --socket`: the arms are requests to a daemon that runs already and goes on. */
import { join } from 'node:path';
import { parseMetrics } from '../../client/ctl/metrics/parse.js';
import { readJournal } from '../../power/experiment/journal.js';
import { readTokens } from '../../power/trace/tokens.js';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { stopSimulated } from '../power/helpers/simulated.js';
import { collect } from '../power/helpers/traces.js';
import { assert, root, suite, tempDir } from '../tools/suite.js';
import { begin, childrenOf, gate, isUnderWay, pzem, until, writePlan } from './helpers/energy-run.js';
import { failure } from './helpers/spikectl.js';

const test = suite('spikectl energy run --socket');
const base = tempDir();
const model = join(root, 'models/default.gguf');
/** Of one request: a run is many. */
const mostTokens = 256;
let daemon: DaemonProcess;
test.before(async () => {
  daemon = await DaemonProcess.start([
    '--model',
    model,
    '--max-tokens',
    String(mostTokens),
    '--context',
    '1024',
  ]);
});
test.after(async () => {
  stopSimulated();
  await daemon.stop('SIGKILL');
});

const shared = [{ name: 'full' }, { name: 'gate', request: gate }];

test('all arms go to it, a run as many requests as its limit asks for; no daemon is started, it goes on', async () => {
  const client = await daemon.client();
  const generated = async () =>
    parseMetrics(await client.serverMetrics()).find(({ name }) => name === 'spiked_generated_tokens_total')
      ?.value ?? NaN;
  const before = await generated();
  const plan = writePlan(join(base, 'plan.json'), { arms: shared, blocks: 1 });
  const meter = pzem();
  const experiment = begin(plan, join(base, 'shared'), meter.address, '--socket', daemon.path);
  await until(experiment, (entries) => isUnderWay(entries, 1));
  assert.equal(childrenOf(experiment), [], 'nothing of its own');
  const { stderr } = await experiment.ended;

  const journal = await readJournal(experiment.folder);
  assert.equal(journal.at(-1), { kind: 'end', part: 1, how: 'complete' }, stderr);
  const runs = journal.flatMap((entry) =>
    entry.kind === 'run' && entry.reasons.length === 0 ? [entry] : [],
  );
  assert.ok(runs.length >= 4);
  const last = runs.slice(-4);
  assert.equal(last.map(({ arm }) => arm).sort(), ['full', 'full', 'gate', 'gate']);
  const piloted = journal.flatMap((entry) => (entry.kind === 'pilot' ? [entry.tokens] : [])).at(-1);
  for (const { tokens, requests, marks } of last) {
    assert.is(tokens, piloted);
    assert.is(requests, Math.ceil(tokens / mostTokens));
    assert.ok(requests > 1);
    const marked = await collect(readTokens(join(experiment.folder, marks)));
    assert.is(marked.length, tokens);
  }
  const [environment] = journal.flatMap((entry) => (entry.kind === 'part' ? [entry.environment] : []));
  assert.equal(
    environment?.daemons.map(({ arms, own, addon_sha256: addon }) => [arms, own, addon]),
    [[['full', 'gate'], false, null]],
  );

  const sum = runs.reduce((total, { tokens }) => total + tokens, 0);
  assert.ok((await generated()) - before > sum, 'the tokens of the runs, and of the pilot, are its own');
  assert.is((await client.serverInfo()).pid, daemon.pid);
  assert.equal((await client.serverRequests()).requests, []);
  await client.close();
});

test('it has settings of its own: those of an arm are refused', async () => {
  const plan = writePlan(join(base, 'own.json'));
  const args = ['energy', 'run', plan, '-o', join(base, 'own'), '--meter', pzem().address];
  assert.match(
    await failure([...args, '--socket', daemon.path], 1, 'ERR_PLAN_INVALID'),
    /arms\[0\]\.daemon\.threads: expected nothing with --socket, .* found 1/,
  );
});

test.run();
