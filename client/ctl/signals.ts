/**
 * Runs work that ends by itself with ERR_CANCELLED when the process is told to stop: with a listener here the signal
 * does not kill the process first, so the error is reported and the exit status is ours.
 */
export async function finishOnInterrupt<T>(work: () => Promise<T>): Promise<T> {
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  try {
    return await work();
  } finally {
    process.off('SIGINT', ignore);
  }
}
