import { stat } from 'node:fs/promises';
import { SpikedError, type Result } from '../../client/protocol/index.js';
import type { NativeEngine, NativeModel, Tokenizer } from '../../native/host/index.js';
import type { ModelFile, ModelFiles } from './files.js';
import { LoadedModel } from './loaded-model.js';

type OpenTokenizer = (path: string, model: NativeModel) => Promise<Tokenizer | null>;

/** The models in memory, by name. */
export class ModelRegistry {
  private readonly loaded = new Map<string, LoadedModel>();
  /** Two loads of one file share the work. */
  private readonly loading = new Map<string, Promise<LoadedModel>>();

  constructor(
    private readonly engine: NativeEngine,
    private readonly files: ModelFiles,
    /** The name that requests without one get. */
    private readonly defaultName: string | null,
    private readonly context: number | undefined,
    private readonly openTokenizer: OpenTokenizer,
  ) {}

  get names(): string[] {
    return [...this.loaded.keys()];
  }

  get isLoading(): boolean {
    return this.loading.size > 0;
  }

  get modelBytes(): number {
    return [...this.loaded.values()].reduce((sum, model) => sum + model.native.info.fileSizeBytes, 0);
  }

  get prefixCacheBytes(): number {
    return [...this.loaded.values()].reduce((sum, model) => sum + model.native.prefixCacheBytes(), 0);
  }

  async list(): Promise<Result<'model.list'>['models']> {
    const rows = [];
    for (const { name, path } of await this.files.list()) {
      const model = this.loaded.get(name);
      const entry = await stat(path).catch(() => null);
      if (!entry) continue;
      rows.push({
        name,
        path,
        loaded: model !== undefined,
        default: name === this.defaultName,
        file_size_bytes: entry.size,
        info: model?.describe(),
      });
    }
    return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws SpikedError ERR_MODEL_NOT_FOUND */
  get(name: string | undefined): LoadedModel {
    const wanted = name ?? this.defaultName;
    if (wanted === null) {
      throw new SpikedError(
        'ERR_MODEL_NOT_FOUND',
        'model: expected a name, found none, and the daemon has no default model',
      );
    }
    const model = this.loaded.get(wanted);
    if (model) return model;
    throw new SpikedError(
      'ERR_MODEL_NOT_FOUND',
      `model "${wanted}": expected a loaded model (${this.names.join(', ') || 'none is'}); see model.load`,
    );
  }

  /** Loads a model unless it is in memory already. */
  async load(nameOrPath: string): Promise<LoadedModel> {
    const file = await this.files.find(nameOrPath);
    const present = this.loaded.get(file.name);
    if (present?.path === file.path) return present;
    if (present) {
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${file.path}: expected a name that is free, found "${file.name}" loaded from ${present.path}`,
      );
    }
    const running = this.loading.get(file.path);
    if (running) return running;
    const work = this.open(file).finally(() => this.loading.delete(file.path));
    this.loading.set(file.path, work);
    return work;
  }

  /** @throws SpikedError ERR_MODEL_NOT_FOUND, ERR_MODEL_BUSY */
  async unload(name: string): Promise<string> {
    const model = this.get(name);
    if (model.busy) {
      throw new SpikedError(
        'ERR_MODEL_BUSY',
        `model "${model.name}": expected no request that uses it, found some`,
      );
    }
    this.loaded.delete(model.name);
    await model.close();
    return model.name;
  }

  async close(): Promise<void> {
    const all = [...this.loaded.values()];
    this.loaded.clear();
    await Promise.all(all.map((model) => model.close()));
  }

  private async open({ name, path }: ModelFile): Promise<LoadedModel> {
    const native = await this.engine.openModel(path);
    try {
      const tokenizer = await this.openTokenizer(path, native);
      const model = new LoadedModel(name, path, native, tokenizer, this.context ?? native.info.maxContext);
      this.loaded.set(name, model);
      return model;
    } catch (error) {
      native.close();
      throw error;
    }
  }
}
