import type { GenerateParams, GenerateResult } from '../../client/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('prefix cache of the daemon');

/** Results of the same requests, one after the other, and what the daemon then holds. */
async function serve(
  args: string[],
  requests: GenerateParams[],
): Promise<{ results: GenerateResult[]; bytes: number }> {
  const daemon = await DaemonProcess.start(['--model', await goldenModel(smallCase), ...args]);
  try {
    const client = await daemon.client();
    const results = [];
    for (const request of requests) results.push(await client.generate(request).result);
    const { prefix_cache_used_bytes: bytes } = await client.serverMemory();
    await client.close();
    return { results, bytes };
  } finally {
    await daemon.stop();
  }
}

test('requests that begin alike start where they part, and get the answers they would get', async () => {
  const shared = Array.from({ length: 70 }, (_, i) => (i * 31 + 7) % 500);
  const request = (end: number[], seed: number): GenerateParams => ({
    tokens: [...shared, ...end],
    bos: false,
    max_tokens: 12,
    seed,
    ignore_eos: true,
  });
  const requests = [request([1], 1), request([1], 1), request([9, 8, 7], 2), request([], 3)];
  const plain = await serve([], requests);
  const cached = await serve(['--prefix-cache', '64'], requests);
  const answers = ({ results }: typeof plain): unknown[] =>
    results.map(({ tokens, activity, prompt_tokens: n }) => ({ tokens, activity, n }));
  assert.equal(answers(cached), answers(plain));
  assert.equal(
    cached.results.map((result) => result.cached_tokens),
    [0, 64, 64, 64],
  );
  assert.ok(plain.results.every((result) => result.cached_tokens === 0));
  assert.is(plain.bytes, 0);
  assert.ok(cached.bytes > 0 && cached.bytes <= 64 * 2 ** 20);
});

test.run();
