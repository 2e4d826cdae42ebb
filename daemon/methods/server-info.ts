import { methods, protocolVersion } from '../../client/protocol/index.js';
import type { Handler } from './handler.js';

export const serverInfo: Handler<'server.info'> = (_params, { daemon }) => {
  const build = daemon.addon.build();
  return {
    name: 'spiked',
    version: build.version,
    commit: build.commit,
    protocol_version: protocolVersion,
    model_format_version: build.modelFormatVersion,
    numerics_version: build.numericsVersion,
    isa: daemon.engine.isa,
    activations: daemon.engine.activations,
    kv: daemon.config.kv,
    memory: daemon.config.memory,
    contract: daemon.config.contract,
    head_bits: daemon.config.headBits,
    isas: daemon.addon.isas(),
    threads: daemon.engine.threads,
    cpus: daemon.engine.cpus,
    loading: daemon.engine.loading,
    pid: process.pid,
    uptime_s: Number(process.hrtime.bigint() - daemon.startedNs) / 1e9,
    warnings: daemon.machine.found.map(({ text, fix }) => `${text}; ${fix}`),
    methods: Object.keys(methods),
    limits: { ...daemon.config.limits },
    models: daemon.models.names,
  };
};
