import { useModel, useSession } from '../engine.js';
import { defaultThreads } from '../../../native/host/index.js';

/** Shares of neurons that fired; mixer and ffn have one entry a layer. */
export interface Activity {
  encoder: number;
  mixer: number[];
  ffn: number[];
}

const positions = 48;

/** Feeds ids spread over the vocabulary and counts what fires. */
export async function measureActivity(path: string): Promise<Activity> {
  return useModel(path, { threads: defaultThreads() }, (model) =>
    useSession(model, async (session) => {
      const { validVocabSize, embedDim, ffnDim, nLayers } = model.info;
      const ids = Int32Array.from({ length: positions }, (_, i) => (i * 7919 + 13) % validVocabSize);
      const { trace } = await session.forward(ids, { logits: 'none', trace: { blockOut: false } });
      const share = (counts: Int32Array, width: number) =>
        counts.reduce((sum, n) => sum + n, 0) / (positions * width);
      const layers = (counts: Int32Array, width: number) =>
        Array.from({ length: nLayers }, (_, layer) =>
          share(counts.subarray(layer * positions, (layer + 1) * positions), width),
        );
      if (trace === null) return { encoder: 0, mixer: [], ffn: [] };
      return {
        encoder: share(trace.activeEncoder, embedDim),
        mixer: layers(trace.activeMixer, embedDim),
        ffn: layers(trace.activeFfn, ffnDim),
      };
    }),
  );
}
