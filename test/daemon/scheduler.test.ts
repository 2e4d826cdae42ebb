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

function setup(maxActive: number, maxQueue: number) {
  const scheduler = new Scheduler({ maxActive, maxQueue });
  const trace: string[] = [];
  const job = (name: string, turns: number): Steps => {
    const steps = new Steps(name, turns, trace, scheduler);
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
