import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError, type Command } from 'commander';
import { createProgram } from '../../client/ctl/program.js';
import { describeError, exitCode } from '../../client/ctl/exit.js';
import { assert, root, run, suite } from '../tools/suite.js';
import { failure, output, spikectl } from './helpers/spikectl.js';

const test = suite('spikectl help and usage');
const { commands } = await createProgram();
const manual = readFileSync(join(root, 'docs/cli.md'), 'utf8');

/** Runs a command line in this process: what it prints, and the line it ends with when it fails. */
async function parse(...args: string[]): Promise<{ text: string; line: string; status: number }> {
  let text = '';
  const program = await createProgram(args);
  const capture = (command: Command): void => {
    command.configureOutput({ writeOut: (part) => void (text += part) });
    command.commands.forEach(capture);
  };
  capture(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return { text, line: '', status: 0 };
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return { text, line: '', status: 0 };
    return { text, ...describeError(error) };
  }
}

async function refused(args: string[], pattern: RegExp): Promise<void> {
  const { line, status } = await parse(...args);
  assert.is(status, 2, args.join(' '));
  assert.match(line, /^spikectl: ERR_USAGE: [^\n]+$/);
  assert.match(line, pattern);
}

test('--help lists every command with what it does', async () => {
  const { text, status } = await parse('--help');
  assert.is(status, 0);
  for (const command of commands) {
    assert.ok(text.includes(`  ${command.name()} `), command.name());
    assert.ok(command.description().length > 10, command.name());
  }
});

for (const command of commands)
  test(`${command.name()} --help shows every option with a meaning`, async () => {
    const { text, status } = await parse(command.name(), '--help');
    assert.is(status, 0);
    assert.ok(text.startsWith(`Usage: spikectl ${command.name()}`));
    for (const { flags, description } of command.options) {
      assert.ok(text.includes(flags), flags);
      assert.ok(description.length > 5, flags);
    }
  });

test('a command line gets the one command that it names, or all of them', async () => {
  const names = async (...args: string[]) => {
    const program = await createProgram(args);
    return program.commands.map((command) =>
      [command.name(), ...command.commands.map((each) => each.name())].join(' '),
    );
  };
  const all = await names();
  assert.is(all.length, commands.length);
  for (const command of commands)
    assert.equal(
      await names(command.name(), '--json'),
      all.filter((line) => line.split(' ')[0] === command.name()),
    );
  assert.equal(await names('--', 'bench', '-h', 'kernels'), ['bench kernels']);
  for (const args of [['help', 'run'], ['chek'], ['--help'], ['constructor']])
    assert.equal(await names(...args), all);
});

test('every module that a command alone needs is left out of the others', async () => {
  const loaded = `import { createProgram } from ${JSON.stringify(join(root, 'dist/client/ctl/program.js'))};
    await createProgram(process.argv.slice(1));
    console.log(process.report.getReport().sharedObjects.filter((file) => file.endsWith('.node')).length);`;
  const count = async (...args: string[]) =>
    Number((await run(process.execPath, ['--input-type=module', '-e', loaded, '--', ...args])).stdout);
  assert.is(await count('version'), 0);
  assert.ok((await count('help')) > 0, 'the serial port is one');
});

test('docs/cli.md has every command, every option and every exit status', () => {
  for (const command of commands) {
    const all = command.commands.length > 0 ? command.commands : [command];
    for (const leaf of all) {
      const name = leaf === command ? command.name() : `${command.name()} ${leaf.name()}`;
      assert.ok(manual.includes(`## \`spikectl ${name}`), name);
      const section = manual.slice(manual.indexOf(`## \`spikectl ${name}`)).split('\n## ')[1] ?? '';
      const own = manual.slice(manual.indexOf(`## \`spikectl ${name}`) + 3).split('\n## ')[0] ?? section;
      for (const option of leaf.options)
        assert.ok(own.includes(option.long ?? ''), `${name} ${option.flags}`);
    }
  }
  for (const code of Object.values(exitCode)) assert.ok(manual.includes(`| ${String(code)} |`), String(code));
});

test('a wrong command line is refused with what was expected', async () => {
  await refused(['bench'], /expected a command/);
  await refused(['chek'], /Did you mean check/);
  await refused(['status', '--sokcet', 'x'], /unknown option/);
  await refused(['run'], /prompt/);
  await refused(['run', 'a', 'b'], /too many arguments/);
  await refused(['run', 'a', '--temperature', 'hot'], /--temperature.*a number from/);
  await refused(['run', 'a', '--seed', '-1'], /--seed/);
  await refused(['run', 'a', '--seed', '18446744073709551616'], /--seed/);
  await refused(['logits', 'm', '--ids', '1,x'], /token ids/);
  await refused(['logits', 'm', '--ids', '1', '--threads', '0'], /from 1 to 256/);
  await refused(['export', 'c', '-o', 'm', '--weights', 'int4'], /f32, int8, int4mix/);
  await refused(['export', 'c', '-o', 'm', '--weights', 'f32', '--layout', 'tree'], /mixed, row, column/);
  await refused(['check', 'm'], /--golden or --sampling/);
  await refused(['check', 'm', '--golden', 'd', '--case', 'c'], /--sampling/);
  await refused(['eval'], /expected a command/);
  await refused(['eval', 'perplexity', 'm'], /--text or --ids/);
  await refused(['bench', 'paper', 'm'], /--output/);
  await refused(['bench', 'roofline', 'm'], /--output/);
  await refused(['bench', 'kernels', '--size', '0'], /--size.*from 1/);
  await refused(['bench', 'bandwidth', 'm'], /too many arguments/);
  await refused(['bench', 'threads'], /model/);
  await refused(['bench', 'prefill', 'm', '--activations', 'i4'], /f32, i16, i8/);
  await refused(['bench', 'paper', 'm', '-o', 'd', '--only', 'speed'], /precision/);
  await refused(['synth', '--config', '7b', '-o', 'm'], /tiny/);
});

test('the program reports it as one line on stderr, exit status 2', async () => {
  await failure([], 2, 'ERR_USAGE');
  await failure(['run', 'a', '--top-k', 'many'], 2, 'ERR_USAGE');
});

test('nothing is coloured in a pipe', async () => {
  const { stdout, stderr } = await spikectl(['--help'], { env: { FORCE_COLOR: undefined } });
  assert.not.ok((stdout + stderr).includes('\u001b'));
});

test('version names build, instruction set and contracts', async () => {
  const facts = JSON.parse(await output(['version', '--json'])) as Record<string, unknown>;
  assert.is(facts['name'], 'spiked');
  assert.match(String(facts['version']), /^\d+\.\d+\.\d+$/);
  assert.match(String(facts['commit']), /^[0-9a-f]{12}$|^unknown$/);
  assert.ok(Number(facts['numerics_version']) >= 1 && Number(facts['model_format_version']) >= 1);
  const isas = facts['isas'] as { name: string; supported: boolean }[];
  assert.ok(isas.some(({ name, supported }) => name === facts['isa'] && supported));
  const scalar = JSON.parse(await output(['version', '--json'], { env: { SPIKED_FORCE_ISA: 'scalar' } })) as {
    isa: string;
  };
  assert.is(scalar.isa, 'scalar');
});

test.run();
