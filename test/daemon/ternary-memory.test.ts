/** What server.memory promises for a ternary model in low memory mode, beside what the daemon grows by. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bitnetMetadata } from '../../client/ctl/synth/bitnet/metadata.js';
import { bitnetTensors } from '../../client/ctl/synth/bitnet/tensors.js';
import { tensorBytes } from '../../client/ctl/synth/bitnet/fill.js';
import { GgufWriter } from '../../export/gguf-writer.js';
import { OutputFile } from '../../export/output-file.js';
import { encode } from '../tensor/gguf-draft.js';
import { tinyBitnet } from '../tensor/tiny-bitnet.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('ternary memory');
const folder = tempDir();
const [small, large] = [join(folder, 'small.gguf'), join(folder, 'large.gguf')];
/** A few layers of the published model's width under a quarter of its vocabulary: 240 MB, two thirds of them the F16 table. */
const config = {
  vocabSize: 32_768,
  nMerges: 1000,
  embedDim: 2560,
  nLayers: 4,
  nHeads: 20,
  nKvHeads: 5,
  headDim: 128,
  ffnDim: 6912,
  maxContext: 512,
};
const tableBytes = 2 * config.vocabSize * config.embedDim;
const pageBytes = 65536;

/** Without a tokenizer, whose memory is JavaScript's and would be measured too. */
async function writeLarge(): Promise<number> {
  const all = bitnetMetadata('large', 'bitnet-b1.58', config);
  const metadata = new Map([...all].filter(([key]) => !key.startsWith('tokenizer.')));
  const tensors = bitnetTensors(config, false);
  return OutputFile.write(large, async (file) => {
    const writer = await GgufWriter.begin(file, metadata, tensors, { alignment: 32, hashKey: undefined });
    for (const tensor of tensors) await writer.tensor(tensor.name, tensorBytes(tensor, 1n));
    await writer.finish();
    return writer.fileSizeBytes;
  });
}

let fileBytes = 0;
test.before(async () => {
  writeFileSync(small, encode(tinyBitnet({ seed: 3, context: 512 })));
  fileBytes = await writeLarge();
});

test('low memory: what is promised is what the daemon grows by, within 5 %', async () => {
  const daemon = await DaemonProcess.start([
    '--model', small, '--model', folder, '--memory', 'low', '--prefault', '--context', '384',
  ]); // prettier-ignore
  const client = await daemon.client();
  /** Nearly all of a session's room, and what both heads read and make. */
  const use = async (model: string): Promise<void> => {
    const session = await client.openSession({ model });
    await session.append(Array.from({ length: 365 }, (_, i) => 1 + (i % 90)));
    for (const mode of ['full', 'topk'] as const)
      await session.generate({ max_tokens: 6, temperature: 0, ignore_eos: true, head: { mode } }).result;
  };
  await use('small');
  const before = await client.serverMemory();
  await client.loadModel('large');
  await use('large');
  const after = await client.serverMemory();
  const grown = after.rss_bytes - before.rss_bytes;
  const promised = after.reserved_bytes - before.reserved_bytes;
  const found = `${promised} promised, ${grown} grown: ${JSON.stringify({ before, after })}`;
  assert.ok(Math.abs(promised / grown - 1) < 0.05, found);
  const weights = after.weights_bytes - before.weights_bytes;
  assert.ok(weights >= fileBytes - tableBytes && weights <= fileBytes - tableBytes + 2 * pageBytes, found);
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

test.run();
