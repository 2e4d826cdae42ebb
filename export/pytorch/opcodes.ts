/** The opcodes a state dict needs, of pickle protocol 2. */
export const opcodes = {
  MARK: 0x28, // (
  EMPTY_TUPLE: 0x29, // )
  STOP: 0x2e, // .
  BINFLOAT: 0x47, // G
  BININT: 0x4a, // J
  BININT1: 0x4b, // K
  BININT2: 0x4d, // M
  NONE: 0x4e, // N
  BINPERSID: 0x51, // Q
  REDUCE: 0x52, // R
  BINUNICODE: 0x58, // X
  EMPTY_LIST: 0x5d, // ]
  APPEND: 0x61, // a
  BUILD: 0x62, // b
  GLOBAL: 0x63, // c
  APPENDS: 0x65, // e
  BINGET: 0x68, // h
  LONG_BINGET: 0x6a, // j
  BINPUT: 0x71, // q
  LONG_BINPUT: 0x72, // r
  SETITEM: 0x73, // s
  TUPLE: 0x74, // t
  SETITEMS: 0x75, // u
  EMPTY_DICT: 0x7d, // }
  PROTO: 0x80,
  TUPLE1: 0x85,
  TUPLE2: 0x86,
  TUPLE3: 0x87,
  NEWTRUE: 0x88,
  NEWFALSE: 0x89,
  LONG1: 0x8a,
} as const;

/** Opcodes that call, import or fetch something. They have a name here so that a refusal can say what was tried. */
const refused: Record<number, string> = {
  0x50: 'PERSID',
  0x69: 'INST',
  0x6f: 'OBJ',
  0x81: 'NEWOBJ',
  0x82: 'EXT1',
  0x83: 'EXT2',
  0x84: 'EXT4',
  0x92: 'NEWOBJ_EX',
  0x93: 'STACK_GLOBAL',
  0x97: 'NEXT_BUFFER',
};

export function opcodeName(opcode: number): string {
  const hex = `0x${opcode.toString(16).padStart(2, '0')}`;
  return refused[opcode] === undefined ? hex : `${refused[opcode]} (${hex})`;
}
