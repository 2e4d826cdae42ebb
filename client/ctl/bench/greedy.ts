import type { Sampling } from '../../../native/host/index.js';

/** What every measurement decodes with, so that its ids can be compared. */
export const greedy: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  repetitionPenalty: 1,
  adaptiveTemperature: false,
  bannedIds: new Int32Array(),
};
