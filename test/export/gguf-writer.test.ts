/** What a GGUF writer leaves in the file, however its parts fall. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { aligned, encodeHeader, type GgufTensor, type GgufValue } from '../../export/gguf-header.js';
import { GgufWriter } from '../../export/gguf-writer.js';
import { OutputFile } from '../../export/output-file.js';
import { assert, suite, tempDir } from '../tools/suite.js';

const test = suite('GGUF writer');
const folder = tempDir();
const block = 4 << 20;
const metadata = new Map<string, GgufValue>([['general.name', { type: 'string', value: 'parts' }]]);
const form = { alignment: 32, hashKey: undefined };

function noise(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0, x = seed; i < length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    bytes[i] = x >>> 24;
  }
  return bytes;
}

/** Sizes of one tensor's parts; what is left of the tensor is one more. */
const cases: [string, (headerBytes: number) => number[], number][] = [
  ['less than a block', () => [1, 7], 1000],
  ['up to a block to the byte', (header) => [block - header], block],
  ['a byte less, a byte more', (header) => [block - header - 1, 2, block - 2, 1, 1], 3 * block],
  ['several blocks at once', () => [3 * block + 5], 4 * block],
  ['empty parts', () => [0, block, 0, 0, 1], 2 * block + 32],
];

for (const [what, partsOf, bytes] of cases)
  test(what, async () => {
    const tensor = (name: string, length: number): GgufTensor => ({ name, type: 'i8', dims: [length] });
    const tensors = [tensor('first', bytes), tensor('second', 4)];
    const header = encodeHeader(metadata, tensors, form.alignment);
    const data = noise(bytes, bytes);
    const parts: Uint8Array[] = [];
    let at = 0;
    for (const length of partsOf(header.bytes.length)) parts.push(data.subarray(at, (at += length)));
    parts.push(data.subarray(at));
    const path = join(folder, 'parts.gguf');
    const digest = await OutputFile.write(path, async (file) => {
      const writer = await GgufWriter.begin(file, metadata, tensors, form);
      await writer.tensor('first', parts);
      await writer.tensor('second', [data.subarray(0, 4)]);
      assert.is(writer.writtenBytes, writer.fileSizeBytes);
      return writer.finish();
    });
    const pad = (length: number): Buffer => Buffer.alloc(aligned(length, form.alignment) - length);
    const section = Buffer.concat([data, pad(bytes), data.subarray(0, 4), pad(4)]);
    assert.is(statSync(path).size, header.bytes.length + section.length);
    assert.ok(readFileSync(path).equals(Buffer.concat([header.bytes, section])));
    assert.is(digest, createHash('sha256').update(section).digest('hex'));
  });

test.run();
