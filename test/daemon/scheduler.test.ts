import { type SpikedError } from '../../client/index.js';
import { Scheduler, type Job } from '../../daemon/queue/scheduler.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('scheduler');

/** A job of so many steps, a run each, that writes its name for each. */
class Steps implements Job {
  paused = false;
  cancelled = false;

  constructor(
    private readonly name: string,
    private turns: number,
    private readonly trace: string[],
    private readonly scheduler: Scheduler,
    readonly owner: object,
  ) {}

  ready(): boolean {
    return !this.paused;
  }

  stalled(): boolean {
    return this.paused;
  }

  async run(): Promise<boolean> {
    this.trace.push(this.name);
    await new Promise((resolve) => setImmediate(resolve));
    this.turns--;
    return this.turns <= 0 || this.cancelled;
  }

  cancel(): void {
    this.cancelled = true;
    this.scheduler.remove(this);
  }
}

const one = {};
const other = {};

function setup(maxActive: number, maxQueue: number, own: { active?: number; queue?: number } = {}) {
  const { active: maxOwnActive = 256, queue: maxOwnQueue = maxQueue } = own;
  const scheduler = new Scheduler({ maxActive, maxQueue, maxOwnActive, maxOwnQueue });
  const trace: string[] = [];
  const job = (name: string, turns: number, owner: object = one): Steps => {
    const steps = new Steps(name, turns, trace, scheduler, owner);
    scheduler.submit(steps);
    return steps;
  };
  return { scheduler, trace, job };
}

test('active jobs take turns one step each; the next one comes in when one is done', async () => {
  const { scheduler, trace, job } = setup(2, 10);
  job('a', 3);
  job('b', 2);
  job('c', 2);
  await scheduler.whenIdle();
  assert.is(trace.slice(0, 4).join(''), 'abab');
  assert.equal([...trace].sort().join(''), 'aaabbcc');
  assert.ok(trace.indexOf('c') > trace.lastIndexOf('b'), 'c waited for a place');
});

test('a job whose reader is behind gives its place to one that waits, up to a bound', async () => {
  const { scheduler, trace, job } = setup(1, 10);
  const paused = Array.from({ length: 4 }, (_, i) => {
    const steps = job(`p${i}`, 1);
    steps.paused = true;
    return steps;
  });
  const late = job('late', 1);
  assert.is(scheduler.activeCount, 4, 'paused jobs make room four times over');
  assert.is(scheduler.waitingCount, 1);
  paused[0]?.cancel();
  while (!trace.includes('late')) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(trace, ['late']);
  assert.not.ok(late.cancelled);
  for (const steps of paused.slice(1)) steps.paused = false;
  scheduler.wake();
  await scheduler.whenIdle();
  assert.equal([...trace].sort(), ['late', 'p1', 'p2', 'p3']);
});

test('a job that arrives late shares from then on', async () => {
  const { scheduler, trace, job } = setup(8, 0);
  job('a', 6);
  while (trace.length < 2) await new Promise((resolve) => setImmediate(resolve));
  job('b', 3);
  await scheduler.whenIdle();
  const both = trace.join('').slice(trace.indexOf('b'));
  assert.match(both, /^(ba){3}|^(ba){2}b/);
});

test('shares stay equal over many steps and jobs', async () => {
  const { scheduler, trace, job } = setup(5, 0);
  for (const name of ['a', 'b', 'c', 'd', 'e']) job(name, 40);
  await scheduler.whenIdle();
  for (let at = 0; at < 200; at += 5) {
    assert.is(new Set(trace.slice(at, at + 5)).size, 5, `in turns ${String(at)} to ${String(at + 4)}`);
  }
});

test('a paused job keeps its place and stops nobody else', async () => {
  const { scheduler, trace, job } = setup(2, 0);
  const a = job('a', 2);
  a.paused = true;
  job('b', 3);
  while (trace.length < 3) await new Promise((resolve) => setImmediate(resolve));
  assert.is(trace.join(''), 'bbb');
  assert.is(scheduler.activeCount >= 1, true);
  a.paused = false;
  scheduler.wake();
  await scheduler.whenIdle();
  assert.is(trace.join(''), 'bbbaa');
});

test('refuses beyond the caps and names them', async () => {
  const { scheduler, job } = setup(1, 1);
  job('a', 1);
  job('b', 1);
  assert.throws(
    () => job('c', 1),
    (error: SpikedError) =>
      error.code === 'ERR_BUSY' && error.message.includes('at most 1 active and 1 waiting'),
  );
  await scheduler.whenIdle();
  job('d', 1);
  await scheduler.whenIdle();
});

test("another's first job does not wait for the many of one; later ones share the free places", async () => {
  const { scheduler, trace, job } = setup(2, 100);
  for (let i = 0; i < 64; i++) job('a', 3);
  while (trace.length < 20) await new Promise((resolve) => setImmediate(resolve));
  for (const name of ['x', 'y', 'z']) job(name, 3, other);
  assert.is(scheduler.activeCount, 3);
  const begun = trace.length;
  await scheduler.whenIdle();
  assert.is(trace.length, 64 * 3 + 9);
  assert.ok(trace.indexOf('x') < begun + 3, 'at once');
  assert.ok(trace.lastIndexOf('z') < begun + 40, 'two owners, so about every second place');
  assert.ok(trace.indexOf('y') < trace.indexOf('z'), "an owner's own keep their order");
});

test('owners beyond all bounds get places in turn', async () => {
  const { scheduler, trace, job } = setup(1, 100);
  const owners = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of owners) {
    const owner = {};
    for (let i = 0; i < 5; i++) job(name, 1, owner);
  }
  assert.is(scheduler.activeCount, 4, 'the state of jobs takes memory');
  await scheduler.whenIdle();
  for (let at = 0; at < 30; at += 6) {
    assert.ok(new Set(trace.slice(at, at + 6)).size >= 4, `at ${String(at)}: ${trace.join('')}`);
  }
  assert.equal(
    [...trace].sort(),
    owners.flatMap((name) => Array<string>(5).fill(name)),
  );
});

test("one owner's share of places and queue is bounded, and the refusal names it", async () => {
  const { scheduler, trace, job } = setup(4, 10, { active: 1, queue: 2 });
  for (const name of ['a', 'b', 'c']) job(name, 2);
  assert.is(scheduler.activeCount, 1);
  assert.throws(
    () => job('d', 1),
    (error: SpikedError) =>
      error.code === 'ERR_BUSY' && error.message.includes('1 active and 2 waiting of one connection'),
  );
  job('o', 2, other);
  await scheduler.whenIdle();
  assert.is(trace.filter((name) => name !== 'o').join(''), 'aabbcc');
});

test('removing a waiting job lets the others pass; idleness is told', async () => {
  const { scheduler, trace, job } = setup(1, 5);
  job('a', 2);
  const b = job('b', 2);
  job('c', 1);
  b.cancel();
  await scheduler.whenIdle();
  assert.is(trace.join(''), 'aac');
  assert.is(scheduler.activeCount + scheduler.waitingCount, 0);
});

test.run();
