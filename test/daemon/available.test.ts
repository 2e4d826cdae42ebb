/** What the automatic memory budget is made of, on made-up machines. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { availableBytes } from '../../daemon/memory/available.js';
import { automaticBudget } from '../../daemon/memory/automatic-budget.js';
import { assert, suite, tempDir } from '../tools/suite.js';

const test = suite('available memory');
const free = 4000;

/** Writes the files of groups; returns the folder. */
function groups(files: Record<string, Record<string, string | number>>): string {
  const root = tempDir();
  for (const [group, values] of Object.entries(files)) {
    mkdirSync(join(root, group), { recursive: true });
    for (const [name, value] of Object.entries(values)) writeFileSync(join(root, group, name), `${value}\n`);
  }
  return root;
}

test('without groups, and without limits, it is what the machine has', () => {
  assert.is(availableBytes('', '/nowhere', free), free);
  assert.is(availableBytes('0::/a/b\n', '/nowhere', free), free);
  const root = groups({ 'a/b': { 'memory.max': 'max', 'memory.high': 'max', 'memory.current': 7 } });
  assert.is(availableBytes('0::/a/b\n', root, free), free);
});

test('the narrowest of nested groups counts, less what is in use; cached files are free', () => {
  const root = groups({
    a: { 'memory.max': 3000, 'memory.high': 2500, 'memory.current': 1900, 'memory.stat': 'anon 1\n' },
    'a/b': { 'memory.max': 'max', 'memory.current': 1 },
    'a/b/c': {
      'memory.max': 2000,
      'memory.high': 'max',
      'memory.current': 1500,
      'memory.stat': 'anon 900\nfile 600\ninactive_file 250\nactive_file 150\nshmem 200\n',
    },
  });
  assert.is(availableBytes('0::/a/b/c\n', root, free), 600);
  assert.is(availableBytes('0::/a/b/c\n', root, 500), 500);
  assert.is(availableBytes('0::/a/b\n', root, free), 600, 'high of a: 2500 - 1900');
  assert.is(availableBytes('0::/\n', groups({ '': { 'memory.max': 10, 'memory.current': 20 } }), free), 0);
});

test('the first generation, and both at once', () => {
  const root = groups({
    'memory/x/y': {
      'memory.limit_in_bytes': 1000,
      'memory.usage_in_bytes': 800,
      'memory.stat': 'inactive_file 5\ntotal_inactive_file 100\ntotal_active_file 50\n',
    },
    'memory/x': { 'memory.limit_in_bytes': '9223372036854771712', 'memory.usage_in_bytes': 5 },
    'unified/u': { 'memory.max': 300, 'memory.current': 0 },
  });
  assert.is(availableBytes('4:memory:/x/y\n3:cpu,cpuacct:/x\n', root, free), 350);
  assert.is(availableBytes('4:cpu,memory:/x/y\n0::/u\n', root, free), 300);
});

test('this machine has some, and the budget is between what is held and what there is', () => {
  const available = availableBytes();
  assert.ok(available > 2 ** 20);
  const budget = automaticBudget();
  assert.ok(budget > process.memoryUsage.rss() && budget < process.memoryUsage.rss() + available);
});

test.run();
