/** Writes small SentencePiece models (BPE, byte fallback), so that tests need no file from elsewhere. */

export type Kind = 'normal' | 'unknown' | 'control' | 'user_defined' | 'byte';
const kindNumbers: Record<Kind, number> = { normal: 1, unknown: 2, control: 3, user_defined: 4, byte: 6 };

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}
const tagged = (number: number, wire: number): number[] => varint(number * 8 + wire);
const integer = (number: number, value: number): number[] => [...tagged(number, 0), ...varint(value)];
export const bytesField = (number: number, bytes: Iterable<number>): number[] => {
  const content = [...bytes];
  return [...tagged(number, 2), ...varint(content.length), ...content];
};
const f32 = (number: number, value: number): number[] => [
  ...tagged(number, 5),
  ...new Uint8Array(Float32Array.of(value).buffer),
];

export interface TinyTokenizer {
  /** Whether encoding puts a space in front, and decoding drops it. */
  dummyPrefix?: boolean;
  removeExtraSpaces?: boolean;
  /** Rules for the decoded text: a model that has some is refused. */
  denormalizer?: boolean;
}

export const pieces: [text: string, kind: Kind][] = [
  ['<pad>', 'control'],
  ['<s>', 'control'],
  ['</s>', 'control'],
  ['<unk>', 'unknown'],
  ['<|user|>', 'user_defined'],
  ...Array.from({ length: 256 }, (_, byte): [string, Kind] => [
    `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    'byte',
  ]),
  ...['he', 'll', 'llo', 'hello', '\u2581hello', '\u2581w', '\u2581'].map((text): [string, Kind] => [
    text,
    'normal',
  ]),
  ...Array.from('helowrd\u00e9').map((text): [string, Kind] => [text, 'normal']),
];

export function tinyTokenizer(
  options: TinyTokenizer = {},
  all: readonly [string, Kind][] = pieces,
): Uint8Array {
  const { dummyPrefix = true, removeExtraSpaces = false, denormalizer = false } = options;
  const encoded = all.flatMap(([text, kind], id) =>
    bytesField(1, [
      ...bytesField(1, Buffer.from(text)),
      ...f32(2, kind === 'normal' ? -id : 0),
      ...integer(3, kindNumbers[kind]),
    ]),
  );
  const bpe = 2;
  const trainer = [
    ...integer(3, bpe),
    ...integer(35, 1), // byte fallback
    ...integer(40, 3),
    ...integer(41, 1),
    ...integer(42, 2),
    ...integer(43, 0),
  ];
  const normalizer = [
    ...bytesField(1, Buffer.from('identity')),
    ...integer(3, dummyPrefix ? 1 : 0),
    ...integer(4, removeExtraSpaces ? 1 : 0),
    ...integer(5, 1),
  ];
  const rules = denormalizer ? bytesField(5, bytesField(2, [1, 2, 3])) : [];
  return Uint8Array.from([...encoded, ...bytesField(2, trainer), ...bytesField(3, normalizer), ...rules]);
}
