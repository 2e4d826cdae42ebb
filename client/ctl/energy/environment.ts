import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { release } from 'node:os';
import si from 'systeminformation';
import type { Environment } from '../../../power/experiment/record.js';
import { addon, addonPath } from '../../../native/host/index.js';
import type { ArmDaemon } from './arm-daemons.js';

/** What the figures were measured on and with. Starts shells (systeminformation), reads the model files whole. */
export async function describeEnvironment(daemons: readonly ArmDaemon[]): Promise<Environment> {
  const [system, cpu, memory, os] = await Promise.all([si.system(), si.cpu(), si.mem(), si.osInfo()]);
  const build = addon().build();
  const described = await Promise.all(daemons.map(describeDaemon));
  return {
    version: build.version,
    commit: build.commit,
    node: process.versions.node,
    machine: {
      board: named(system.manufacturer, system.model),
      cpu: named(cpu.manufacturer, cpu.brand),
      cores: cpu.cores,
      memory_bytes: memory.total,
      os: named(os.distro, os.release) ?? process.platform,
      kernel: release(),
    },
    daemons: described.map(({ facts }) => facts),
    warnings: described.flatMap(({ warnings }) => warnings),
  };
}

async function describeDaemon(
  daemon: ArmDaemon,
): Promise<{ facts: Environment['daemons'][number]; warnings: string[] }> {
  const { arms, own, client, model, path, info } = daemon;
  const server = await client.serverInfo();
  const facts = {
    arms,
    own,
    version: server.version,
    commit: server.commit,
    addon_sha256: own ? await sha256(addonPath()) : null,
    isa: server.isa,
    threads: server.threads,
    cpus: server.cpus,
    activations: server.activations,
    loading: server.loading,
    model: {
      name: model,
      path,
      file_sha256: await sha256(path),
      data_sha256: info.data_sha256,
      weights: info.weights,
      parameters: info.n_parameters,
    },
    context_limit: info.context_limit,
    max_context: info.max_context,
  };
  return { facts, warnings: server.warnings.map((text) => `${arms.join(', ')}: ${text}`) };
}

/** Hex; null when the file cannot be read. */
async function sha256(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }))
      hash.update(chunk as Buffer);
    return hash.digest('hex');
  } catch {
    return null;
  }
}

/** What the system does not know it leaves empty. */
function named(...parts: readonly string[]): string | null {
  const text = parts
    .map((part) => part.trim())
    .filter((part) => part !== '' && part !== '-')
    .join(' ');
  return text === '' ? null : text;
}
