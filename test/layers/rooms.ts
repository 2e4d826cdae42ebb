/**
 * Who may use whom: the order of the house as data. `test/layers/rooms.test.ts` reads every #include and every import and fails on
 * an arrow that is not here.
 */
export interface Room {
  /** Its folder; files of a longer folder that is a room of its own are not in it. */
  folder: string;
  /** Rooms whose files it may use, or single files; its own files always. */
  uses: readonly string[];
}

/** Usable by every TypeScript room (no C++ file can include it): the one error class and its table. */
export const everyone = 'client/protocol/errors.ts';

const base = ['native/base'];
const belowSession = [
  ...base,
  'native/kernels',
  'native/threads',
  'native/tensor',
  'native/ops',
  'native/state',
  'native/models',
  'native/head',
  'native/sampler',
];
const kernelContract = [
  'native/kernels/kernels.h',
  'native/kernels/layout.h',
  'native/kernels/constants.h',
  'native/kernels/peak.h',
];

/** Compiled with instruction-set flags, so they hold no shared inline code and include only intrinsics and C headers. */
export const isaFolders = ['avx2', 'avx2_vnni', 'neon', 'neon_dotprod'].map((isa) => `native/kernels/${isa}`);

export const rooms: readonly Room[] = [
  { folder: 'native/base', uses: [] },
  { folder: 'native/kernels', uses: base },
  // scalar/ is built without instruction-set flags and calls our math out of line.
  { folder: 'native/kernels/scalar', uses: [...kernelContract, 'native/base/half.h', 'native/base/math.h'] },
  ...isaFolders.map((folder) => ({ folder, uses: kernelContract })),
  { folder: 'native/threads', uses: base },
  { folder: 'native/tensor', uses: [...base, 'native/kernels/layout.h'] },
  { folder: 'native/ops', uses: [...base, 'native/kernels', 'native/tensor'] },
  { folder: 'native/state', uses: [...base, 'native/tensor'] },
  {
    folder: 'native/models',
    uses: [...base, 'native/threads', 'native/tensor', 'native/ops', 'native/state'],
  },
  { folder: 'native/head', uses: [...base, 'native/threads', 'native/tensor', 'native/ops'] },
  { folder: 'native/sampler', uses: base },
  { folder: 'native/session', uses: belowSession },
  { folder: 'native/measure', uses: [...base, 'native/kernels', 'native/threads'] },
  { folder: 'native/capi', uses: [...base, 'native/session', 'native/measure'] },
  { folder: 'native/addon', uses: ['native/capi/spiked.h'] },
  { folder: 'native/host', uses: [] },
  { folder: 'export', uses: ['native/host'] },
  { folder: 'daemon', uses: ['native/host', 'power', 'client/protocol'] },
  { folder: 'client', uses: ['client/protocol'] },
  { folder: 'client/protocol', uses: [] },
  { folder: 'client/ctl', uses: ['client', 'power', 'export', 'native/host', 'package/manifest.ts'] },
  { folder: 'power', uses: [] },
  { folder: 'package', uses: [] },
  { folder: 'test', uses: ['*'] },
  { folder: 'bench', uses: ['*'] },
];

/** The room of a file, the one with the longest folder that holds it. */
export function roomOf(file: string): Room | undefined {
  return rooms
    .filter(({ folder }) => file.startsWith(`${folder}/`))
    .sort((a, b) => b.folder.length - a.folder.length)[0];
}

/** Whether a file of `from` may use the file `target`. */
export function allowed(from: Room, target: string): boolean {
  if (target === everyone || from.uses.includes('*') || from.uses.includes(target)) return true;
  const room = roomOf(target);
  return room !== undefined && (room === from || from.uses.includes(room.folder));
}
