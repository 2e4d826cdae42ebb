/**
 * What a test file needs: uvu with reasons for skipped tests, temporary folders, child processes.
 *
 *     const test = suite('queue');
 *     test('serves in order', () => { assert.is(...) });
 *     test.needs(missing('nvim'), 'answers Neovim', async () => { ... });
 *     test.run();
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite as uvuSuite } from 'uvu';
import { skipMark } from './uvu-summary.js';

export * as assert from 'uvu/assert';
export { root, sharedDir } from './paths.js';
export { killGroup, missing, run, which, type RunOptions, type RunResult } from './process.js';

type Body = () => Promise<void> | void;

export interface Suite {
  (title: string, body: Body): void;
  /** Lists the test as skipped. */
  skip(title: string, reason: string): void;
  /** Registers the test, or skips it when `reason` (what is missing) is given. */
  needs(reason: string | undefined, title: string, body: Body): void;
  before(body: Body): void;
  after(body: Body): void;
  beforeEach(body: Body): void;
  afterEach(body: Body): void;
  /** Call it last: a file that does not is a failed file. */
  run(): void;
}

export function suite(name: string): Suite {
  const inner = uvuSuite(name);
  const broken: unknown[] = [];
  const skip = (title: string, reason: string): void => {
    inner.skip(title);
    process.stdout.write(`${skipMark}${name}: ${title}: ${reason}\n`);
  };
  // uvu drops what a `before` hook throws; it must fail every test instead.
  const guarded = (body: Body) => async (): Promise<void> => {
    try {
      await body();
    } catch (error) {
      broken.push(error);
    }
  };
  const register = (title: string, body: Body): void => {
    inner(title, async () => {
      if (broken.length > 0) throw broken[0];
      await body();
    });
  };
  return Object.assign(register, {
    skip,
    needs(reason: string | undefined, title: string, body: Body): void {
      if (reason === undefined) register(title, body);
      else skip(title, reason);
    },
    before: (body: Body) => {
      inner.before(guarded(body));
    },
    after: (body: Body) => {
      inner.after(body);
    },
    beforeEach: (body: Body) => {
      inner.before.each(body);
    },
    afterEach: (body: Body) => {
      inner.after.each(body);
    },
    run: () => {
      inner.run();
    },
  });
}

/** A fresh folder, removed when the process ends. Short enough for a Unix socket inside it. */
export function tempDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'spiked-'));
  process.on('exit', () => {
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}
