import { Command } from 'commander';
import { addon } from '../../native/host/index.js';
import { printJson, printLine, table } from './output.js';

export function versionCommand(): Command {
  return new Command('version')
    .description('show product, commit, instruction set in use, and the versions of contracts and build')
    .option('--json', 'one JSON object')
    .action(version);
}

async function version(options: { json?: true }): Promise<void> {
  const native = addon();
  const build = native.build();
  // Opening an engine is what chooses the instruction set, SPIKED_FORCE_ISA included.
  const engine = native.openEngine({ threads: 1 });
  const isa = engine.isa;
  engine.close();
  const isas = native.isas();
  const facts = {
    name: 'spiked',
    version: build.version,
    commit: build.commit,
    isa,
    isas,
    numerics_version: build.numericsVersion,
    model_format_version: build.modelFormatVersion,
    addon: { compiler: build.compiler },
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  if (options.json) return printJson(facts);
  await printLine(
    table([
      ['spiked', build.version],
      ['commit', build.commit],
      [
        'instruction set',
        `${isa} (supported here: ${isas
          .filter((row) => row.supported)
          .map((row) => row.name)
          .join(', ')})`,
      ],
      ['numerics contract', String(build.numericsVersion)],
      ['model format', String(build.modelFormatVersion)],
      ['compiler', build.compiler],
      ['Node.js', `${process.versions.node}, ${facts.platform}`],
    ]),
  );
}
