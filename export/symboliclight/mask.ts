import { SpikedError } from '../../client/protocol/errors.js';
import { windowOf, type Config } from './config.js';
import type { SourceTensor } from './tensors.js';

const blockElements = 1 << 20;

/**
 * Checks that a stored mask [T, T] says what the runtime computes: query t sees key j when
 * j <= t and (t - j <= window or j < anchors).
 *
 * @throws SpikedError ERR_CHECKPOINT_TENSOR at the first query and key that differ
 */
export async function checkMask(
  path: string,
  { name, source, shape }: SourceTensor,
  config: Config,
): Promise<void> {
  const [size = 0] = shape;
  const window = windowOf(config);
  const blockRows = Math.max(1, Math.floor(blockElements / size));
  for (let from = 0; from < size; from += blockRows) {
    const to = Math.min(size, from + blockRows);
    const stored = await source.readRows(from, to);
    for (let query = from; query < to; query++) {
      for (let key = 0; key < size; key++) {
        const isVisible = key <= query && (query - key <= window || key < config.n_global_anchors);
        if ((stored[(query - from) * size + key] !== 0) === isVisible) continue;
        throw new SpikedError(
          'ERR_CHECKPOINT_TENSOR',
          `${path}: tensor "${name}": query ${query}, key ${key}: expected ${String(isVisible)} ` +
            `for a window of ${window} and ${config.n_global_anchors} anchors, found ${String(!isVisible)}`,
        );
      }
    }
  }
}
