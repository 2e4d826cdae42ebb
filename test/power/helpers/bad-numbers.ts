/** Where in a value, by its keys, stand numbers that JSON has no form for. */
export function badNumbers(value: unknown, at = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [at];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => badNumbers(item, at === '' ? key : `${at}.${key}`));
}
