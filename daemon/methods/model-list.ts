import type { Handler } from './handler.js';

export const modelList: Handler<'model.list'> = async (_params, { daemon }) => ({
  models: await daemon.models.list(),
});
