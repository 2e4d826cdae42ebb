/** Jobs of two kinds side by side: those that compute one after the other, and beside them those that mostly wait. */

export interface Lanes<Job, Outcome> {
  /** Whether it mostly waits. */
  readonly waits: (job: Job) => boolean;
  /** Whether it takes long: such begin first, so that no lane ends with one while the other has nothing left. */
  readonly long: (job: Job) => boolean;
  readonly run: (job: Job) => Promise<Outcome>;
  /** Told of every outcome in the order of the jobs, as soon as all before it are there. */
  readonly tell: (outcome: Outcome) => void;
}

/**
 * The outcomes of all jobs, in their order. At most two run at a time, never two that compute; the lane that has nothing left of its own
 * helps with those that wait.
 */
export async function runInLanes<Job, Outcome>(
  jobs: readonly Job[],
  { waits, long, run, tell }: Lanes<Job, Outcome>,
): Promise<Outcome[]> {
  const places = [...jobs.keys()];
  const isLong = (place: number): boolean => long(jobs[place] as Job);
  const order = [...places.filter(isLong), ...places.filter((place) => !isLong(place))];
  const waitsAt = (place: number): boolean => waits(jobs[place] as Job);
  const computing = order.filter((place) => !waitsAt(place));
  const waiting = order.filter(waitsAt);
  const outcomes = new Map<number, Outcome>();
  let told = 0;
  const lane = async (next: () => number | undefined): Promise<void> => {
    for (let place = next(); place !== undefined; place = next()) {
      outcomes.set(place, await run(jobs[place] as Job));
      for (; outcomes.has(told); told++) tell(outcomes.get(told) as Outcome);
    }
  };
  await Promise.all([lane(() => computing.shift() ?? waiting.shift()), lane(() => waiting.shift())]);
  return places.map((place) => outcomes.get(place) as Outcome);
}
