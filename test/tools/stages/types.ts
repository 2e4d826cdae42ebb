import { root } from '../paths.js';
import { run } from '../process.js';
import { byExit, type Stage } from '../report.js';

/** The build compiled dist/; this says that dist/ stands for the sources as they are now. */
export const types: Stage = {
  name: 'types',
  async run() {
    return byExit(
      await run('npx', ['--no-install', 'tsc', '-p', 'tsconfig.json', '--noEmit'], { cwd: root }),
      'tsc',
    );
  },
};
