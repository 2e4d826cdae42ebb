import { mkdir, open, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { exportModel } from '../../../../export/export.js';
import { addon, describeModel } from '../../../../native/host/index.js';
import type { ModelInfo } from '../../../../native/host/index.js';
import { useModel } from '../../engine.js';
import type { Variant } from './settings.js';

export interface VariantFile {
  variant: Variant;
  path: string;
  info: ModelInfo;
  /** All tensors, in bytes; the tokenizer and the header are not weights. */
  weightBytes: number;
}

/** The model files of a run: made from the model given as they are asked for, removed at the end unless kept. */
export class Variants {
  private readonly files = new Map<string, VariantFile>();
  private readonly made: string[] = [];

  constructor(
    private readonly source: string,
    private readonly folder: string,
    /** For a checkpoint that has them not beside or inside it. */
    private readonly extra: { tokenizer?: string | undefined; config?: string | undefined } = {},
  ) {}

  get all(): VariantFile[] {
    return [...this.files.values()];
  }

  /** Exports a variant, or takes the model given where it is that already. */
  async get(variant: Variant): Promise<VariantFile> {
    const known = this.files.get(variant.id);
    if (known !== undefined) return known;
    const path = (await this.isSource(variant)) ? this.source : await this.export(variant);
    const file = await describe(variant, path);
    this.files.set(variant.id, file);
    return file;
  }

  /** Removes what was made here, and the folder when nothing else is in it. */
  async remove(): Promise<void> {
    for (const path of this.made) await rm(path, { force: true });
    await rmdir(this.folder).catch(() => undefined);
  }

  private async isSource({ weights, layoutPlan, golden }: Variant): Promise<boolean> {
    if (golden !== undefined || layoutPlan !== 'mixed' || !(await isModelFile(this.source))) return false;
    const { info } = await describe({ id: '', weights, layoutPlan }, this.source);
    return info.weights === weights && info.layoutPlan === 'mixed';
  }

  private async export({ id, weights, layoutPlan, golden }: Variant): Promise<string> {
    await mkdir(this.folder, { recursive: true });
    const out = join(this.folder, `${id}.gguf`);
    const checkpoint = golden === undefined ? this.source : join(golden, 'model.pt');
    this.made.push(out);
    const { tokenizer, config: configPath } = golden === undefined ? this.extra : {};
    await exportModel({ checkpoint, out, weights, layoutPlan, packer: addon(), tokenizer, configPath });
    return out;
  }
}

async function describe(variant: Variant, path: string): Promise<VariantFile> {
  const { tensors } = await describeModel(path);
  const info = await useModel(path, { threads: 1 }, (model) => Promise.resolve(model.info));
  return { variant, path, info, weightBytes: tensors.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

export async function isModelFile(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.toString('latin1') === 'GGUF';
  } finally {
    await file.close();
  }
}
