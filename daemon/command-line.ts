import { Command, InvalidArgumentError, Option } from 'commander';
import { defaultSocketPath } from '../client/protocol/index.js';
import { logLevels, type GivenOptions } from './config.js';
import { exitCodeText } from './exit-codes.js';
import { limitNames, limitTable, type Limits } from './limits.js';
import { limitOption, optionOf } from './setting-names.js';

export interface CommandLine {
  /** What was given; the rest is left to the configuration file, then to the defaults. */
  options: GivenOptions;
  configPath: string | undefined;
  untilStdinEnds: boolean;
}

/** @throws CommanderError when the command line does not fit, or help or version was asked for */
export function readCommandLine(argv: readonly string[], version: () => string): CommandLine {
  const command = new Command('spiked')
    .description(
      'Serves small spiking and ternary language models to local programs over a Unix socket (docs/protocol.md).',
    )
    .exitOverride()
    .option(
      '--config <file>',
      'JSON file of settings (docs/service.md); options win over it; SIGHUP reads it again',
    )
    .option('--socket <path>', `Unix socket to listen at (default: ${defaultSocketPath()})`)
    .option('--socket-mode <octal>', 'mode of the socket; connecting takes write permission (default: 0660)')
    .option('--socket-group <group>', "group of the socket, by name or number (default: the process's)")
    .option('--allow-uid <uid>', 'a user that may connect; repeatable (default: all)', appendInteger)
    .option(
      '--allow-gid <gid>',
      'a group whose members may connect; repeatable (default: all)',
      appendInteger,
    )
    .option(
      '--model <file|folder>',
      'GGUF file, or a folder of them; repeatable, the first is the default',
      append,
    )
    .option(
      '--threads <n>',
      'threads of the engine (default: one for each big core, or for each CPU of a list)',
      integer,
    )
    .option(
      '--cpus <list>',
      'CPUs of the threads, such as 4-7, or none to leave them to the system (default: the big cores, where cores differ)',
    )
    .option('--prefault', 'read models into memory before they are used')
    .option('--huge-pages', 'copy models into memory of huge pages')
    .addOption(
      new Option('--mlock', 'read models into memory and lock them there (needs RLIMIT_MEMLOCK)').conflicts(
        'hugePages',
      ),
    )
    .option('--isa <name>', 'instruction set (default: SPIKED_FORCE_ISA, else the best of this CPU)')
    .addOption(
      new Option(
        '--activations <precision>',
        "of the blocks' dense products: f32 (the default) is the reference; i16 and i8 are faster, inexact, and need quantised weights",
      ).choices(['f32', 'i16', 'i8']),
    )
    .option(
      '--context <n>',
      "tokens that a request may reach, prompt included (default: the model's maximum); a ternary model's sessions have room for as many",
      integer,
    )
    .addOption(
      new Option(
        '--kv <precision>',
        'ternary models: how keys and values are kept (default: f32); f16 halves them, and is another model than f32',
      ).choices(['f32', 'f16']),
    )
    .addOption(
      new Option(
        '--memory <mode>',
        'ternary models: low keeps no F16 table in memory and reads its rows from the file, with the same bits (default: normal)',
      ).choices(['normal', 'low']),
    )
    .addOption(
      new Option(
        '--contract <rule>',
        'ternary models: how activations are rounded (default: bitnet, as they were trained)',
      ).choices(['bitnet', 'hyphae']),
    )
    .option(
      '--head-bits <n>',
      'ternary models: bits of a weight in the first pass of the heads certified and topk, 8 (the default) or 4: half of the memory, and more rows to verify',
      integer,
    )
    .option(
      '--prefix-cache <MiB>',
      'memory, a model, for what prompts left behind: requests that begin alike start there (default: none)',
      integer,
    )
    .option(
      '--ram-budget <size>',
      'memory that the process may come to hold, bytes or 900M, 2G: a model or a session that would cross it is refused (default: nine tenths of what is available)',
      size,
    )
    .addOption(
      new Option(
        '--log-level <level>',
        'log on stderr: JSON lines, or lines for the journal where stderr is one (default: info)',
      ).choices(logLevels),
    )
    .option('--log-text', 'log prompts and generated texts, too')
    .option('--no-self-test', 'do not compare the kernels with scalar code at the start')
    .option(
      '--drain-ms <n>',
      'time for running requests to finish when the daemon stops (default: 5000)',
      integer,
    )
    .option(
      '--slow-reader-ms <n>',
      'time without progress until a client that does not read is dropped (default: 30000)',
      integer,
    )
    .option(
      '--session-idle-ms <n>',
      'time without a request until a session is closed (default: 600000)',
      integer,
    )
    .option('--message-ms <n>', 'time from the first to the last byte of a message (default: 30000)', integer)
    .option(
      '--until-stdin-ends',
      'stop when standard input ends, for a parent that must not leave it behind',
      false,
    )
    .version(version(), '--version')
    .addHelpText('after', `\n${exitCodeText}`);
  for (const name of limitNames) {
    const { meaning, default: value } = limitTable[name];
    command.option(`--${limitOption(name)} <n>`, `${meaning} (default: ${value})`, integer);
  }
  const values: Record<string, unknown> = command.parse(argv).opts();
  const limits: Partial<Limits> = {};
  for (const name of limitNames) {
    const value = values[attribute(limitOption(name))];
    if (value !== undefined) limits[name] = value as number;
  }
  return {
    configPath: values['config'] as string | undefined,
    untilStdinEnds: values['untilStdinEnds'] === true,
    options: {
      ...Object.fromEntries(
        Object.entries(optionOf).map(([setting, option]) => [setting, values[attribute(option)]]),
      ),
      loading: loadingOf(values),
      // Commander gives a --no- option the value true where it is not said.
      selfTest: values['selfTest'] === false ? false : undefined,
      limits,
    },
  };
}

/** What Commander calls the value of an option. */
function attribute(option: string): string {
  return option.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function loadingOf(values: Record<string, unknown>): GivenOptions['loading'] {
  if (values['hugePages'] === true) return 'huge_pages';
  if (values['mlock'] === true) return 'locked';
  return values['prefault'] === true ? 'prefault' : undefined;
}

function append(value: string, all: string[] = []): string[] {
  return [...all, value];
}

function appendInteger(text: string, all: number[] = []): number[] {
  return [...all, integer(text)];
}

/** Units of 1024. */
function size(text: string): number {
  const [, digits = '', unit = ''] = /^([1-9]\d*)([KMGT]?)$/.exec(text) ?? [];
  const value = Number(digits) * 1024 ** ' KMGT'.indexOf(unit || ' ');
  if (digits === '' || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('expected bytes, or a number with K, M, G or T.');
  return value;
}

function integer(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('expected a whole number.');
  return value;
}
