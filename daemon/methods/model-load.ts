import type { Handler } from './handler.js';

export const modelLoad: Handler<'model.load'> = async ({ model }, { daemon, connection }) => {
  const loaded = await daemon.models.load(model);
  connection.log.info({ model: loaded.name }, 'model loaded');
  return { name: loaded.name, path: loaded.path, info: loaded.describe() };
};
