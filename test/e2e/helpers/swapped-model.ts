/** A model file that an operator replaces, loads and unloads under traffic, and what a request on it may be answered with meanwhile. */
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Undisturbed } from './traffic.js';

/** One file that comes to the path: where it lies, and what an undisturbed daemon answers from it. */
export interface Version {
  source: string;
  expected: readonly Undisturbed[];
}

/** Puts a file in the place of another, as one should: complete, under the old name. */
export function putFile(path: string, content: string | Buffer | { copyOf: string }): void {
  const next = `${path}.new`;
  if (typeof content === 'object' && 'copyOf' in content) copyFileSync(content.copyOf, next);
  else writeFileSync(next, content);
  renameSync(next, path);
}

export class SwappedModel {
  readonly name = 'swapped';
  /** What a new request may find: a version, or null for no model of this name. */
  private possible: ReadonlySet<Version | null>;
  private readonly watches = new Set<Set<Version | null>>();

  constructor(
    readonly path: string,
    readonly versions: readonly [Version, Version],
  ) {
    this.possible = new Set([versions[0]]);
  }

  /** The version that requests find; the other one while a swap is under way. */
  get current(): Version | null {
    return [...this.possible][0] ?? null;
  }

  /** The version that requests do not find. */
  get other(): Version {
    const [first, second] = this.versions;
    return this.current === first ? second : first;
  }

  /** From now on a request may find this, too. */
  alsoPossible(version: Version | null): void {
    this.possible = new Set([...this.possible, version]);
    for (const seen of this.watches) seen.add(version);
  }

  /** From now on a request finds this and nothing else. */
  settled(version: Version | null): void {
    this.alsoPossible(version);
    this.possible = new Set([version]);
  }

  /** Notes everything that a request may find until `end` is called, which returns it. */
  watch(): { end: () => ReadonlySet<Version | null> } {
    const seen = new Set(this.possible);
    this.watches.add(seen);
    return {
      end: () => {
        this.watches.delete(seen);
        return seen;
      },
    };
  }
}
