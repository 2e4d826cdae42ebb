import type { Handler } from './handler.js';

export const modelUnload: Handler<'model.unload'> = async ({ model }, { daemon, connection }) => {
  const name = await daemon.models.unload(model);
  connection.log.info({ model: name }, 'model unloaded');
  return { name };
};
