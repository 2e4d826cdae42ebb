import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, extname, isAbsolute, join, resolve, sep } from 'node:path';
import { SpikedError } from '../../client/protocol/index.js';

export interface ModelFile {
  /** File stem. */
  name: string;
  /** Without symbolic links. */
  path: string;
}

const extension = '.gguf';

/** Which files may be used as models: those given, and those in the folders given. */
export class ModelFiles {
  private constructor(
    private readonly files: readonly string[],
    private readonly folders: readonly string[],
  ) {}

  /**
   * @param setting  how messages call what named the sources
   * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_CONFIG_INVALID when a source is neither file nor folder or two share a name
   */
  static async open(sources: readonly string[], setting: string): Promise<ModelFiles> {
    const files: string[] = [];
    const folders: string[] = [];
    for (const source of sources) {
      const path = await realpath(source).catch(() => {
        throw new SpikedError(
          'ERR_FILE_NOT_FOUND',
          `${setting} ${source}: expected a model file or a folder of them, found nothing`,
        );
      });
      const entry = await stat(path);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) files.push(path);
      else
        throw new SpikedError(
          'ERR_CONFIG_INVALID',
          `${setting} ${source}: expected a file or a folder, found neither`,
        );
    }
    const opened = new ModelFiles(files, folders);
    const seen = new Map<string, string>();
    for (const { name, path } of await opened.list()) {
      const other = seen.get(name);
      if (other !== undefined) {
        throw new SpikedError(
          'ERR_CONFIG_INVALID',
          `${setting}: expected one file for the name "${name}", found ${other} and ${path}`,
        );
      }
      seen.set(name, path);
    }
    return opened;
  }

  /** Files given first, then each folder's in alphabetical order. */
  async list(): Promise<ModelFile[]> {
    const paths = [...this.files];
    for (const folder of this.folders) {
      const entries = await readdir(folder).catch((error: unknown) => {
        throw new SpikedError('ERR_FILE_IO', `${folder}: cannot list the model folder: ${String(error)}`);
      });
      for (const entry of entries.sort()) {
        if (extname(entry) !== extension) continue;
        const path = await this.allowed(join(folder, entry)).catch(() => null);
        if (path !== null) paths.push(path);
      }
    }
    return [...new Set(paths)].map((path) => ({ name: basename(path, extension), path }));
  }

  /** What is loaded at the start: the files given, and the default model. */
  async initial(): Promise<ModelFile[]> {
    const all = await this.list();
    return all.filter(({ path }, index) => index === 0 || this.files.includes(path));
  }

  /**
   * The file for a name or an absolute path.
   *
   * @throws SpikedError ERR_MODEL_NOT_FOUND, ERR_MODEL_FORBIDDEN when a path leads outside the model folders
   */
  async find(nameOrPath: string): Promise<ModelFile> {
    if (nameOrPath.includes(sep) || nameOrPath.includes('\0')) {
      const path = await this.allowed(nameOrPath);
      return { name: basename(path, extension), path };
    }
    const files = await this.list();
    const found = files.find(({ name }) => name === nameOrPath);
    if (found) return found;
    const names = files.map(({ name }) => name).join(', ');
    throw new SpikedError(
      'ERR_MODEL_NOT_FOUND',
      `model "${nameOrPath}": expected one of ${names || 'none'}, found no such file`,
    );
  }

  /** Says the same of a path outside whether or not something is there. */
  private async allowed(path: string): Promise<string> {
    if (!isAbsolute(path) || path.includes('\0')) {
      throw new SpikedError(
        'ERR_MODEL_FORBIDDEN',
        `${JSON.stringify(path)}: expected a model's name or an absolute path`,
      );
    }
    const real = await realpath(path).catch(() => null);
    if (!this.covers(real ?? resolve(path))) {
      throw new SpikedError(
        'ERR_MODEL_FORBIDDEN',
        `${path}: expected a file under the model folders, found a path outside them`,
      );
    }
    const isFile = real !== null && (await stat(real)).isFile();
    if (!isFile) throw new SpikedError('ERR_MODEL_NOT_FOUND', `${path}: expected a model file, found none`);
    return real;
  }

  private covers(path: string): boolean {
    return this.files.includes(path) || this.folders.some((folder) => path.startsWith(folder + sep));
  }
}
