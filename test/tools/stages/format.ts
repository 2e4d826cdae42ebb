import { root } from '../paths.js';
import { run } from '../process.js';
import { add, byExit, skip, type Stage } from '../report.js';
import { clangFormat, clangFormatMissing } from '../clang-format.js';

export const format: Stage = {
  name: 'format',
  async run() {
    const prettier = await run('npx', ['--no-install', 'prettier', '--check', '.'], { cwd: root });
    const reason = await clangFormatMissing();
    const native =
      reason === undefined
        ? byExit(await clangFormat(['--dry-run', '-Werror']), 'clang-format')
        : skip(`format: clang-format: ${reason}`);
    return add(byExit(prettier, 'prettier'), native);
  },
};
