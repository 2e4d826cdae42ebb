import { stat } from 'node:fs/promises';
import { SpikedError, type Result } from '../../client/protocol/index.js';
import type { NativeEngine, NativeModel, Tokenizer } from '../../native/host/index.js';
import type { ModelFile, ModelFiles } from './files.js';
import { LoadedModel } from './loaded-model.js';

/** A path may get files faster than they can be loaded. */
const attempts = 3;

type OpenTokenizer = (path: string) => Promise<Tokenizer | null>;

/** The models in memory, by name. */
export class ModelRegistry {
  private readonly loaded = new Map<string, LoadedModel>();
  private closed = false;
  /** Replaced or unloaded, and still in use by who began with them. */
  private readonly retired = new Set<LoadedModel>();
  /** By path, with the file that was there at the beginning: two loads of one file share the work. */
  private readonly loading = new Map<string, { file: string; work: Promise<LoadedModel> }>();

  constructor(
    private readonly engine: NativeEngine,
    private readonly files: ModelFiles,
    /** The name that requests without one get. */
    private readonly defaultName: string | null,
    private readonly context: number | undefined,
    private readonly openTokenizer: OpenTokenizer,
    /** Told once of a model whose layout nothing vouches for. */
    private readonly onUnverified: (model: LoadedModel) => void,
  ) {}

  get names(): string[] {
    return [...this.loaded.keys()];
  }

  get isLoading(): boolean {
    return this.loading.size > 0;
  }

  /** Of the mapped files of all models. */
  mapped(): ReturnType<NativeModel['mapped']> {
    const sum = { residentBytes: 0, lockedBytes: 0 };
    for (const { native } of this.inMemory) {
      const { residentBytes, lockedBytes } = native.mapped();
      sum.residentBytes += residentBytes;
      sum.lockedBytes += lockedBytes;
    }
    return sum;
  }

  get prefixCacheBytes(): number {
    return this.inMemory.reduce((sum, model) => sum + model.native.prefixCacheBytes(), 0);
  }

  private get inMemory(): LoadedModel[] {
    return [...this.loaded.values(), ...this.retired];
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

  /**
   * Loads a model unless it is in memory already. Where another file has come to its path, it takes the old one's place.
   *
   * @returns the file's that was at the path at the time of the call, or a later one's
   */
  async load(nameOrPath: string): Promise<LoadedModel> {
    const file = await this.files.find(nameOrPath);
    const identity = await identify(file.path);
    const present = this.loaded.get(file.name);
    if (present?.path === file.path && present.file === identity) return present;
    if (present && present.path !== file.path) {
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${file.path}: expected a name that is free, found "${file.name}" loaded from ${present.path}`,
      );
    }
    const running = this.loading.get(file.path);
    if (running?.file === identity) return running.work;
    if (running) {
      await Promise.allSettled([running.work]);
      return this.load(nameOrPath);
    }
    const work = this.open(file).finally(() => this.loading.delete(file.path));
    this.loading.set(file.path, { file: identity, work });
    return work;
  }

  /**
   * Takes a model out; no request finds it any more.
   *
   * @returns whether it is out of memory, too: it stays, `whenIdle`, while someone uses it
   * @throws SpikedError ERR_MODEL_NOT_FOUND, ERR_MODEL_BUSY
   */
  async unload(name: string, whenIdle: boolean): Promise<boolean> {
    const model = this.get(name);
    if (model.busy && !whenIdle) {
      throw new SpikedError(
        'ERR_MODEL_BUSY',
        `model "${model.name}": expected no request that uses it, found some`,
      );
    }
    this.loaded.delete(model.name);
    const gone = this.retire(model);
    if (model.busy) return false;
    await gone;
    return true;
  }

  async close(): Promise<void> {
    this.closed = true;
    const all = this.inMemory;
    this.loaded.clear();
    await Promise.all(all.map((model) => model.close()));
  }

  private async retire(model: LoadedModel): Promise<void> {
    this.retired.add(model);
    await model.retire();
    this.retired.delete(model);
  }

  private async open(file: ModelFile): Promise<LoadedModel> {
    for (let left = attempts; left > 0; left--) {
      const model = await this.openOnce(file);
      if (!model) continue;
      if (this.closed) {
        await model.close();
        throw new SpikedError('ERR_SHUTTING_DOWN', `${file.path}: loaded when the daemon had stopped`);
      }
      const before = this.loaded.get(model.name);
      this.loaded.set(model.name, model);
      if (before) void this.retire(before);
      void model.verifyLayout().then((unverified) => {
        if (unverified && !this.closed) this.onUnverified(model);
      });
      return model;
    }
    throw new SpikedError(
      'ERR_MODEL_FILE_CHANGED',
      `${file.path}: expected one file from the beginning of a load to its end, found others coming ${attempts} times`,
    );
  }

  /** Null when another file came meanwhile: weights and tokenizer, which are read one after the other, could be those of two. */
  private async openOnce({ name, path }: ModelFile): Promise<LoadedModel | null> {
    const identity = await identify(path);
    const native = await this.engine.openModel(path);
    try {
      const tokenizer = await this.openTokenizer(path);
      const contextLimit = this.context ?? native.info.maxContext;
      const model = new LoadedModel(name, path, native, tokenizer, contextLimit, identity);
      if ((await identify(path)) === identity) return model;
      await model.close();
    } catch (error) {
      native.close();
      if ((await identify(path)) === identity) throw error;
    }
    return null;
  }
}

/** Tells a file from the one that is there after it was replaced or written to. */
async function identify(path: string): Promise<string> {
  const entry = await stat(path, { bigint: true }).catch(() => null);
  return entry ? [entry.dev, entry.ino, entry.size, entry.mtimeNs].join() : '';
}
