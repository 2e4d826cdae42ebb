import { availableBytes } from './available.js';

/** The rest is for what the ledger cannot know: JavaScript's heap, allocators, other programs that grow. */
const share = 0.9;

/** The memory budget where nobody says: what the process holds, and nine tenths of what it can still take. */
export function automaticBudget(): number {
  return process.memoryUsage.rss() + Math.floor(share * availableBytes());
}
