/** A model's file that is cut or written to while the model is in use. */
import {
  openSync,
  closeSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { NativeModel, NativeSession } from '../../native/host/index.js';
import { addon, generatedSteps } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { greedy, ids, modelFile, withModel } from './runs.js';

const test = suite('file changed');

async function refused(call: () => unknown): Promise<void> {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (thrown: unknown) => thrown as Error & { code: string },
    );
  assert.is(error?.code, 'ERR_MODEL_FILE_CHANGED', error?.message);
  assert.match(error?.message ?? '', /tiny-\d+\.gguf: expected the file as it was loaded/);
}

/** Every call that computes with the model. */
async function allRefused(model: NativeModel, session: NativeSession): Promise<void> {
  await refused(() => session.step(ids(1), greedy));
  await refused(() => session.step(ids(1), greedy, { head: { mode: 'certified' }, logprob: true }));
  await refused(() => session.forward(ids(3), { logits: 'all' }));
  const generate = (one: NativeSession): Promise<void> =>
    one.generate(ids(1), greedy, { maxTokens: 3, stopIds: new Int32Array() }, () => assert.unreachable());
  await refused(() => generate(session));
  // Together, as the two are one pass.
  await Promise.all([session, model.openSession()].map((one) => refused(() => generate(one))));
  await refused(() => session.choose(new Float32Array(model.info.embedDim), greedy));
  await refused(() => session.probabilities(greedy));
  await refused(() => session.reference(ids(2), {}));
  session.reset();
  await refused(() => session.score(ids(4)));
  await refused(() => model.openSession().score(ids(4)));
  await refused(() => model.checkFile());
}

for (const { name: isa } of addon()
  .isas()
  .filter(({ supported }) => supported))
  for (const threads of [1, 3])
    test(`a file cut to nothing ends what uses it, and nothing else: ${isa}, ${String(threads)} threads`, async () => {
      const path = modelFile({ weights: 'int8' });
      await withModel(path, { isa, threads }, async (model) => {
        const session = model.openSession();
        await session.step(ids(5), greedy);
        model.checkFile();
        truncateSync(path, 0);
        await allRefused(model, session);
      });
      const other = modelFile({ weights: 'int8' });
      await withModel(other, { isa, threads }, (model) => model.openSession().step(ids(5), greedy));
    });

test('a byte less, and a byte written, are told although no page is lost', async () => {
  for (const change of [
    (path: string) => truncateSync(path, statSync(path).size - 1),
    (path: string) => {
      const file = openSync(path, 'r+');
      writeSync(file, Buffer.of(0), 0, 1, statSync(path).size - 1);
      closeSync(file);
      utimesSync(path, 1, 1);
    },
  ]) {
    const path = modelFile({});
    await withModel(path, { loading: 'prefault' }, async (model) => {
      const session = model.openSession();
      await session.step(ids(5), greedy);
      change(path);
      await allRefused(model, session);
    });
  }
});

test('no step computed after the cut is handed over', async () => {
  const path = modelFile({});
  const bytes = readFileSync(path);
  const n = 600;
  const run = (cutAt: number): Promise<number[]> =>
    withModel(path, {}, async (model) => {
      const session = model.openSession();
      const drawn: number[] = [];
      // A generate may end early, when JavaScript is far behind.
      while (drawn.length < n) {
        const feed = drawn.length === 0 ? ids(5) : Int32Array.of(drawn.at(-1) ?? 0);
        const options = { maxTokens: n - drawn.length, stopIds: new Int32Array() };
        const work = session.generate(feed, greedy, options, (rows, count) => {
          for (const { id } of generatedSteps(rows, count)) drawn.push(id);
          if (drawn.length >= cutAt) truncateSync(path, 0);
        });
        await work.catch((error: unknown) => {
          told.push(...drawn);
          throw error;
        });
      }
      return drawn;
    });
  const told: number[] = [];
  const whole = await run(n + 1);
  await refused(() => run(1));
  assert.ok(told.length > 0 && told.length < n);
  assert.equal(told, whole.slice(0, told.length));
  writeFileSync(path, bytes);
  assert.equal(await run(n + 1), whole, 'loaded again, it serves again');
});

test('a copy in huge pages does not mind', async () => {
  const path = modelFile({});
  await withModel(path, { loading: 'huge_pages' }, async (model) => {
    truncateSync(path, 0);
    await model.openSession().step(ids(5), greedy);
    model.checkFile();
  });
});

test.run();
