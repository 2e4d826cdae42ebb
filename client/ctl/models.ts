import { Command } from 'commander';
import { connect, type ModelInfoMessage } from '../index.js';
import { printJson, printLine, table } from './output.js';

export function modelsCommand(): Command {
  return new Command('models')
    .description('list the models the running daemon may use')
    .option('--socket <path>', 'socket of the daemon')
    .option('--json', 'one JSON object')
    .action(models);
}

/** A ternary model has no form of its own, and perhaps a warning. */
function formOf({ form, architecture, weights, warnings }: ModelInfoMessage): string {
  return [`${form || architecture} ${weights}`, ...warnings].join(', ');
}

async function models(options: { socket?: string; json?: true }): Promise<void> {
  await using client = await connect({ path: options.socket });
  const found = await client.listModels();
  if (options.json) {
    await printJson({ models: found });
    return;
  }
  const rows = found.map((model) => [
    model.name,
    model.loaded ? 'loaded' : '-',
    model.default ? 'default' : '-',
    model.info === undefined ? '-' : formOf(model.info),
    String(model.file_size_bytes),
    model.path,
  ]);
  await printLine(
    table(
      [['name', 'state', 'default', 'form', 'bytes', 'path'], ...rows],
      ['left', 'left', 'left', 'left', 'right'],
    ),
  );
}
