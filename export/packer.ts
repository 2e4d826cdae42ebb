import { pack, type Addon, type WeightLayout } from '../native/host/index.js';

/** Quantising and packing, of which there is one implementation: the engine's. */
export type Packer = Pick<Addon, 'pack'>;

export const enginePacker: Packer = { pack };

export type { WeightLayout };
