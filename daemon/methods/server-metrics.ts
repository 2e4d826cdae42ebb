import { renderMetrics } from '../metrics/render.js';
import type { Handler } from './handler.js';
import { serverMemory } from './server-memory.js';

export const serverMetrics: Handler<'server.metrics'> = async (params, call) =>
  renderMetrics(call.daemon, await serverMemory(params, call));
