import { Command } from 'commander';
import { connect } from '../index.js';
import { printJson, printLine, table } from './output.js';

export function modelsCommand(): Command {
  return new Command('models')
    .description('list the models the running daemon may use')
    .option('--socket <path>', 'socket of the daemon')
    .option('--json', 'one JSON object')
    .action(models);
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
    model.info === undefined ? '-' : `${model.info.form} ${model.info.weights}`,
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
