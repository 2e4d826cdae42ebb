/** What the rest of TypeScript uses of the engine. */
export type * from './addon-types.js';
export { addon, addonPath } from './addon.js';
export { defaultThreads } from './default-threads.js';
export { generatedSteps } from './generated-steps.js';
export { allowedCpus, cpusInUse, formatCpuList, parseCpuList } from './machine/cpu-list.js';
export { findings, type Finding } from './machine/findings.js';
export {
  readMachine,
  type CoolingReading,
  type CoreReading,
  type MachineReading,
  type TemperatureReading,
} from './machine/reading.js';
export { digestModel, type ModelDigest } from './model-digest.js';
export {
  describeModel,
  readFileBytes,
  type MetadataEntry,
  type MetadataValue,
  type ModelFile,
  type TensorEntry,
} from './model-file.js';
export { pack, packedSize, unpackRows, type PackedMatrix } from './pack.js';
export { type Piece, type PieceKind, type PieceTable } from './piece-table.js';
export { digestedLayout, layoutOf, publishedSha256, type Layout } from './published-layout.js';
export { openModelTokenizer, openTokenizer, type Tokenizer, type TokenizerOptions } from './tokenizer.js';
export type { IdDecoder, Vocabulary } from './vocabulary.js';
