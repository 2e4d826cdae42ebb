/** docs/protocol.md against the code: whoever writes a client from it must not be misled. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { exitCodes, exitCodeText } from '../../daemon/exit-codes.js';
import { limitTable } from '../../daemon/limits.js';
import {
  commonErrors,
  defaultSocketPath,
  encodeMessage,
  errorTable,
  events,
  maxMethodBytes,
  maxSocketPathBytes,
  maxStopBytes,
  maxStops,
  methods,
  protocolVersion,
  usualSocketPaths,
  type MethodName,
} from '../../client/protocol/index.js';
import { assert, root, suite } from '../tools/suite.js';

const test = suite('docs/protocol.md');
const page = readFileSync(join(root, 'docs/protocol.md'), 'utf8');

/** The part under a heading, up to the next of the same or a higher level. */
function section(title: string, text = page): string {
  const level = /^#+/.exec(title)?.[0].length ?? 0;
  const start = text.indexOf(`${title}\n`);
  assert.ok(start >= 0, `no section ${title}`);
  const rest = text.slice(start + title.length);
  const end = rest.search(new RegExp(`^#{1,${String(level)}} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
}

const headings = (text: string): string[] =>
  [...text.matchAll(/^### `([^`]+)`$/gm)].map(([, name]) => name ?? '');

/** Cells of the table whose first header is `name`, row by row. */
function rows(text: string, name: string): string[][] {
  const table = text.split(new RegExp(`^\\| ${name} \\|.*\\n\\|[-|]+\\|\\n`, 'm'))[1];
  if (table === undefined) return [];
  const lines = table.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(0, end < 0 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
}

const codes = (text: string): string[] =>
  [...new Set([...text.matchAll(/`(ERR_[A-Z_]+)`/g)].map(([, code]) => code ?? ''))].sort();
const names = (cell: string): string[] => [...cell.matchAll(/`([a-z_0-9]+)`/g)].map(([, name]) => name ?? '');
const docs = (method: string): string => section(`### \`${method}\``, section('## Methods'));

test('lists exactly the methods and events there are', () => {
  assert.equal(headings(section('## Methods')), Object.keys(methods));
  assert.equal(headings(section('## Events')), Object.keys(events));
});

for (const method of Object.keys(methods) as MethodName[]) {
  const spec = methods[method];

  test(`${method}: parameters with their defaults`, () => {
    const shape: Record<string, z.ZodType> = spec.params.shape;
    const found = rows(docs(method), 'param');
    assert.equal(
      found.map(([key]) => key),
      Object.keys(shape).map((key) => `\`${key}\``),
    );
    for (const [cell = '', , stated] of found) {
      const key = cell.slice(1, -1);
      const absent = shape[key]?.safeParse(undefined);
      const expected = !absent?.success
        ? '—'
        : absent.data === undefined
          ? '*none*'
          : `\`${JSON.stringify(absent.data)}\``;
      assert.is(stated, expected, key);
    }
    if (found.length === 0) assert.match(docs(method), /No parameters\./);
  });

  test(`${method}: keys of the result`, () => {
    const result: z.ZodType = spec.result;
    assert.ok(result instanceof z.ZodObject);
    assert.equal(
      rows(docs(method), 'result').flatMap(([key = '']) => names(key)),
      Object.keys(result.shape),
    );
  });

  test(`${method}: errors`, () => {
    const listed = /^Errors: ([^]*?)\n\n/m.exec(`${docs(method)}\n\n`)?.[1] ?? '';
    assert.equal(codes(listed), [...spec.errors].sort());
  });
}

test('model info, timings and activity name every key', () => {
  const list = methods['model.list'].result.shape.models.element;
  const info = list.shape.info.unwrap();
  const text = /^`info`: ([^]*?)\. `context_limit`/m.exec(docs('model.list'))?.[1] ?? '';
  assert.equal(
    names(text)
      .filter((name) => name in info.shape)
      .sort(),
    Object.keys(info.shape).sort(),
  );
  const models = rows(docs('model.list'), 'result')[0]?.join(' ') ?? '';
  assert.equal(names(models).slice(1).sort(), Object.keys(list.shape).sort());
  const generate = methods['text.generate'].result.shape;
  for (const [key, part] of [
    ['timings', generate.timings],
    ['activity', generate.activity],
    ['head', generate.head],
    ['drafts', generate.drafts.unwrap()],
  ] as const) {
    const row = rows(docs('text.generate'), 'result').find(([cell]) => cell === `\`${key}\``);
    assert.equal(names(row?.[2] ?? '').sort(), Object.keys(part.shape).sort(), key);
  }
  const reasons = rows(docs('text.generate'), 'result').find(([cell]) => cell === '`stop_reason`')?.[2] ?? '';
  assert.equal(
    [...reasons.matchAll(/`"([a-z]+)"`/g)].map(([, reason]) => reason),
    generate.stop_reason.options,
  );
});

test('keys of events', () => {
  for (const [name, schema] of Object.entries(events)) {
    const found = rows(section(`### \`${name}\``, section('## Events')), 'key').flatMap(([key = '']) =>
      names(key),
    );
    assert.equal(found, Object.keys(schema.shape), name);
  }
});

test('limits and their defaults', () => {
  assert.equal(
    rows(section('## Limits'), 'limit').map(([name, value]) => [name, value]),
    Object.entries(limitTable).map(([name, row]) => [`\`${name}\``, String(row.default)]),
  );
  assert.ok(page.includes(`At most ${String(maxSocketPathBytes)} bytes`));
  assert.ok(page.includes(`at most ${String(maxMethodBytes)} bytes`));
  assert.ok(page.includes(`up to ${String(maxStops)} strings of 1 to ${String(maxStopBytes)} bytes`));
});

test('common errors, and no code that the table does not have', () => {
  assert.equal(codes(section('## Errors')), [...commonErrors].sort());
  for (const code of codes(page)) assert.ok(code in errorTable, code);
});

test('version, socket paths and exit codes', () => {
  assert.ok(page.includes(`Version **${String(protocolVersion)}**`));
  assert.is(defaultSocketPath({ SPIKED_SOCKET: '/a' }), '/a');
  assert.is(defaultSocketPath({ XDG_RUNTIME_DIR: '/run/user/1' }), '/run/user/1/spiked.sock');
  assert.is(defaultSocketPath({}), '/run/spiked/spiked.sock');
  assert.equal(usualSocketPaths({ SPIKED_SOCKET: '/a', XDG_RUNTIME_DIR: '/b' }), ['/a']);
  assert.equal(usualSocketPaths({ XDG_RUNTIME_DIR: '/b' }), ['/b/spiked.sock', '/run/spiked/spiked.sock']);
  assert.ok(
    page.includes('`$SPIKED_SOCKET`, else `$XDG_RUNTIME_DIR/spiked.sock`, else `/run/spiked/spiked.sock`'),
  );
  const list = exitCodeText.replaceAll('\n', ' ').replace('Exit codes: ', '');
  assert.ok(page.replaceAll('\n', ' ').includes(`Exit codes of \`spiked\`: ${list}`), list);
  for (const code of Object.values(exitCodes)) assert.match(list, new RegExp(`\\b${String(code)} `));
});

test('the bytes of the examples are those of the messages beside them', () => {
  const examples = [...page.matchAll(/^((?:[0-9a-f]{2} )+) *(\[.*\])$/gm)];
  assert.is(examples.length, 5);
  for (const [, hex = '', json = ''] of examples) {
    const message = JSON.parse(json) as unknown[];
    assert.is(encodeMessage(message).toString('hex'), hex.replaceAll(' ', ''), json);
  }
});

test.run();
