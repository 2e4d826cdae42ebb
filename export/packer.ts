import { pack, packedSize, type Addon, type WeightDtype, type WeightLayout } from '../native/host/index.js';

/** Quantising and packing, of which there is one implementation: the engine's. */
export type Packer = Pick<Addon, 'pack' | 'packedSize'>;

export const enginePacker: Packer = { pack, packedSize };

export type { WeightDtype, WeightLayout };
