import { SpikedError } from '../../client/protocol/errors.js';
import type { WeightDtype, WeightLayout } from '../packer.js';
import type { Role } from './tensors.js';

/** Storage of the Linear weights. */
export const weightFormats = ['f32', 'int8', 'int4mix'] as const;
export type Weights = (typeof weightFormats)[number];

/** Layout of the Linear weights: `mixed` by what their input is, the others one for all, to compare with. */
export const layoutPlans = ['mixed', 'row', 'column'] as const;
export type LayoutPlan = (typeof layoutPlans)[number];

export interface StoragePlan {
  weights: Weights;
  layoutPlan: LayoutPlan;
}

export interface Storage {
  dtype: WeightDtype;
  layout: WeightLayout;
}

/** How a tensor of this role is stored (docs/model-file.md, "Tensors"). */
export function storageOf(role: Exclude<Role, 'mask'>, { weights, layoutPlan }: StoragePlan): Storage {
  switch (role) {
    case 'vector':
      return { dtype: 'f32', layout: 'row_major' };
    case 'dense':
      if (weights === 'int4mix') return { dtype: 'i4', layout: 'panel_4x32_i4' };
      return {
        dtype: weights === 'int8' ? 'i8' : 'f32',
        layout: layoutPlan === 'column' ? 'column_major' : 'panel_4x32',
      };
    case 'binary':
      return {
        dtype: weights === 'f32' ? 'f32' : 'i8',
        layout: layoutPlan === 'row' ? 'panel_4x32' : 'column_major',
      };
  }
}

/** @throws SpikedError ERR_INVALID_ARGUMENT for a layout plan that the weights do not have */
export function requirePlan({ weights, layoutPlan }: StoragePlan): void {
  if (layoutPlan !== 'mixed' && weights !== 'f32')
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `layout "${layoutPlan}": expected f32 weights, found ${weights}`,
    );
}
