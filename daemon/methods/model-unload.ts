import type { Handler } from './handler.js';

export const modelUnload: Handler<'model.unload'> = async (params, { daemon, connection }) => {
  const { model: name, when_idle: whenIdle } = params;
  const closed = await daemon.models.unload(name, whenIdle);
  connection.log.info({ model: name, closed }, 'model unloaded');
  return { name, closed };
};
