import { addon, addonPath } from '../../../native/host/index.js';
import { packageRoot } from '../../../native/host/package-root.js';
import { manifestName, readManifest, verifyFiles } from '../../../package/manifest.js';
import { fail, ok, warn, type Check } from './check.js';

const seed = 1n;

/** The addon loads, so its ABI fits; a package is as it was packed. */
export async function checkBuild(): Promise<Check[]> {
  const { version, commit, compiler } = addon().build();
  const node = `Node.js ${process.versions.node}, Node-API ${process.versions.napi ?? '?'}`;
  const build = ok(
    'build',
    `${version} (commit ${commit}), ${compiler}, ${process.arch}; ${node}; ${addonPath()}`,
  );
  const manifest = await readManifest(packageRoot);
  if (manifest === undefined) return [build, ok('package', `a checkout: no ${manifestName}`)];
  await verifyFiles(packageRoot, manifest);
  return [build, ok('package', `${manifest.files.length} files as ${manifestName} says`)];
}

export function checkIsa(): Check[] {
  const engine = addon().openEngine({ threads: 1 });
  const { isa } = engine;
  engine.close();
  const supported = supportedIsas();
  const [best = isa] = supported;
  if (isa === best) return [ok('instructions', `${isa}, the best of ${supported.join(', ')}`)];
  const why = `${isa}, although this CPU has ${best}`;
  return [warn('instructions', why, 'unset SPIKED_FORCE_ISA')];
}

/** Every kernel of every instruction set of this CPU, against scalar. */
export async function checkKernels(isa: string): Promise<Check> {
  const lines = await addon().selfTest(isa, seed);
  const wrong = lines.filter(({ failures }) => failures > 0);
  const cases = lines.reduce((sum, line) => sum + line.cases, 0);
  if (wrong.length === 0) return ok('kernels', `${isa}: ${lines.length} kernels, ${cases} cases as expected`);
  const list = wrong.map(({ kernel, detail }) => `${kernel} (${detail})`).join(', ');
  return fail(
    'kernels',
    `${isa}: wrong answers from ${list}`,
    `do not use ${isa}: SPIKED_FORCE_ISA=scalar; and report it`,
  );
}

export function supportedIsas(): string[] {
  return addon()
    .isas()
    .filter((row) => row.supported)
    .map(({ name }) => name);
}
