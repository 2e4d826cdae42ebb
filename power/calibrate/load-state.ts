/** What the threads of a load are told. */
export const state = { rest: 0, work: 1, end: 2 } as const;
