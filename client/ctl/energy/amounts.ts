/** `45 s`, `12 min`, `3 h 20 min`. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Three digits, or all before the point. */
export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
