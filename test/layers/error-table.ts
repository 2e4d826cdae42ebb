/** The four lists of errors, each read into the same rows, and what differs between them. */
export interface ErrorEntry {
  code: string;
  number: number;
  retry: string;
  meaning: string;
}

export interface ErrorList {
  name: string;
  entries: ErrorEntry[];
}

const entry = (code = '', number = '', retry = '', meaning = ''): ErrorEntry => ({
  code,
  number: Number(number),
  retry: retry.replace(' ', '_'),
  meaning,
});

/** native/base/errors.def: the source. */
export function readDef(text: string): ErrorEntry[] {
  const rows = text.matchAll(/^SPIKED_ERROR\((\d+), (ERR_\w+), (\w+), "(.*)"\)$/gm);
  return [...rows].map(([, number, code, retry, meaning]) => entry(code, number, retry, meaning));
}

/** docs/errors.md */
export function readDocs(text: string): ErrorEntry[] {
  const rows = text.matchAll(/^\| (\d+) \| `(ERR_\w+)` \| ([^|]+) \| (.*) \|$/gm);
  return [...rows].map(([, number, code, retry, meaning]) => entry(code, number, retry, meaning));
}

/** What the C preprocessor makes of capi/spiked.h: `SPIKED_ERR_X = n` inside the enum. */
export function readPreprocessed(text: string): Map<string, number> {
  return new Map(
    [...text.matchAll(/\bSPIKED_(ERR_\w+)\s*=\s*(\d+)/g)].map(([, code, n]) => [code ?? '', Number(n)]),
  );
}

/** One sentence for each way in which `other` is not `source`. */
export function tableFaults(source: readonly ErrorEntry[], other: ErrorList): string[] {
  const faults: string[] = [];
  for (const want of source) {
    const found = other.entries.find(({ code }) => code === want.code);
    if (found === undefined) {
      faults.push(`${other.name}: ${want.code} is missing`);
      continue;
    }
    for (const key of ['number', 'retry', 'meaning'] as const) {
      if (found[key] !== want[key])
        faults.push(`${other.name}: ${want.code}: expected ${key} "${want[key]}", found "${found[key]}"`);
    }
  }
  for (const { code } of other.entries) {
    if (!source.some((want) => want.code === code))
      faults.push(`${other.name}: ${code} is not in errors.def`);
  }
  return faults;
}

/** Codes that a source text names and the table does not have. */
export function unknownCodes(text: string, known: ReadonlySet<string>): string[] {
  const named = [...text.matchAll(/\b(?:SPIKED_)?(ERR_[A-Z][A-Z0-9_]*)\b/g)].map(([, code]) => code ?? '');
  return [...new Set(named)].filter((code) => !known.has(code));
}
