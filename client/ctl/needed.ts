import type { Command } from 'commander';

/** Commands by name, each loaded when it is asked for; told the words behind its name. */
export type Loaders = Readonly<Record<string, (words: readonly string[]) => Promise<Command>>>;

/**
 * The commands that a command line needs: the one that its first word names; all of them for help, for a word that names none, and without
 * any. A start loads nothing that it does not use: all modules together take several times as long as the runtime itself.
 */
export async function neededCommands(loaders: Loaders, words: readonly string[]): Promise<Command[]> {
  const [name = '', ...rest] = words;
  const load = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  return load === undefined
    ? Promise.all(Object.values(loaders).map((each) => each([])))
    : [await load(rest)];
}
