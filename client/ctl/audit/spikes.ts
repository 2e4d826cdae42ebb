import type { ModelInfo, ReferenceResult, Spikes } from '../../../native/host/index.js';

type Threshold = 'encoder' | 'ffn' | 'block';

/** One threshold test: of a neuron, at a position. `block` is a block's output, the next one's input. */
export interface Place {
  position: number;
  threshold: Threshold;
  /** null for the encoder */
  layer: number | null;
  neuron: number;
}

/** The neurons that are tested together: `width` values of an array, from `offset` on. */
export interface Site {
  position: number;
  threshold: Threshold;
  layer: number | null;
  offset: number;
  width: number;
}

type Shape = Pick<ModelInfo, 'nLayers' | 'embedDim' | 'ffnDim'>;

/** Every threshold of n positions in the order of cause and effect: by position, then by depth. The last block's output feeds no threshold. */
export function* sitesOf({ nLayers, embedDim, ffnDim }: Shape, n: number): Generator<Site> {
  for (let position = 0; position < n; position++) {
    yield { position, threshold: 'encoder', layer: null, offset: position * embedDim, width: embedDim };
    for (let layer = 0; layer < nLayers; layer++) {
      const row = layer * n + position;
      yield { position, threshold: 'ffn', layer, offset: row * ffnDim, width: ffnDim };
      if (layer + 1 < nLayers)
        yield { position, threshold: 'block', layer, offset: row * embedDim, width: embedDim };
    }
  }
}

export function placeOf({ position, threshold, layer }: Site, neuron: number): Place {
  return { position, threshold, layer, neuron };
}

export interface Departures {
  first: (Place & { margin: number }) | null;
  /** Spikes that differ, of `of` thresholds. */
  differing: number;
  of: number;
  /** The largest margin of a spike that differs; 0 when none does. */
  widest: number;
}

/** Where decisions depart from the reference's own; margins are the reference's |z - threshold|. */
export function departuresOf(found: Spikes, reference: ReferenceResult, shape: Shape, n: number): Departures {
  const result: Departures = { first: null, differing: 0, of: 0, widest: 0 };
  for (const site of sitesOf(shape, n)) {
    const { threshold, offset, width } = site;
    const [ours, theirs] = [found[threshold], reference.spikes[threshold]];
    result.of += width;
    for (let neuron = 0; neuron < width; neuron++) {
      if (ours[offset + neuron] === theirs[offset + neuron]) continue;
      result.differing++;
      const margin = Math.abs(reference.margins[threshold][offset + neuron] ?? NaN);
      result.first ??= { ...placeOf(site, neuron), margin };
      result.widest = Math.max(result.widest, Number.isNaN(margin) ? Infinity : margin);
    }
  }
  return result;
}

/** Decisions that are all left to the pass. */
export function freeSpikes({ nLayers, embedDim, ffnDim }: Shape, n: number): Spikes {
  const free = (length: number) => new Uint8Array(length).fill(2);
  return {
    encoder: free(n * embedDim),
    ffn: free(nLayers * n * ffnDim),
    block: free(nLayers * n * embedDim),
  };
}

export type Near = Place & { at: number; margin: number };

/** The `count` thresholds that came nearest to the other decision, nearest first. */
export function nearest(reference: ReferenceResult, shape: Shape, n: number, count: number): Near[] {
  const best: Near[] = [];
  if (count === 0) return best;
  for (const site of sitesOf(shape, n)) {
    const margins = reference.margins[site.threshold];
    for (let neuron = 0; neuron < site.width; neuron++) {
      const margin = Math.abs(margins[site.offset + neuron] ?? NaN);
      if (best.length === count && !(margin < (best[count - 1]?.margin ?? NaN))) continue;
      best.push({ ...placeOf(site, neuron), at: site.offset + neuron, margin });
      best.sort((a, b) => a.margin - b.margin).splice(count);
    }
  }
  return best;
}
