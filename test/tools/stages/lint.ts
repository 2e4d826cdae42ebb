import { root } from '../paths.js';
import { run } from '../process.js';
import { byExit, type Stage } from '../report.js';

export const lint: Stage = {
  name: 'lint',
  async run() {
    return byExit(
      await run('npx', ['--no-install', 'eslint', '--max-warnings=0', '.'], { cwd: root }),
      'eslint',
    );
  },
};
