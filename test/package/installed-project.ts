import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const root = path.resolve(__dirname, '../..');

/** An empty project, outside this repository, with the packed package and `@temporalio/*`. */
export interface InstalledProject {
  folder: string;
  /** Compiles files of the project with its own settings, using this repository's compiler. */
  compile(files: readonly string[], options: readonly string[]): Promise<void>;
  /** Runs a program of the project and returns its standard output. */
  run(program: string, args: readonly string[]): Promise<string>;
  env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

export interface Tarballs {
  plugin: string;
  service: string;
  cli: string;
}

/** Packs the output of `npm run build`, a part of `npm test`. Building here would remove dist under the tests that run concurrently. */
export async function packAll(folder: string): Promise<Tarballs> {
  const script = `import { packAll } from ${JSON.stringify(path.join(root, 'scripts/pack.mjs'))};
    console.log(JSON.stringify(packAll(${JSON.stringify(folder)})));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  return z.object({ plugin: z.string(), service: z.string(), cli: z.string() }).parse(JSON.parse(stdout));
}

/** Installs the tarball of the plugin into an empty project, beside the packages of Temporal. */
export async function installPlugin(tarball: string): Promise<InstalledProject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-package-'));
  const env = environmentOutsideNpm();
  const versions = ['activity', 'client', 'common', 'plugin', 'proto', 'worker', 'workflow'].map(
    async (name): Promise<[string, string]> => [`@temporalio/${name}`, await installedVersion(`@temporalio/${name}`)],
  );
  const dependencies = {
    ...Object.fromEntries(await Promise.all(versions)),
    'temporal-file-conversion': `file:${tarball}`,
  };
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder, env });

  const execute = async (program: string, args: readonly string[]) => {
    try {
      return (await run(program, [...args], { cwd: folder, env })).stdout;
    } catch (error) {
      const { stdout: out = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${program} ${args.join(' ')} failed:\n${out}${stderr}`, { cause: error });
    }
  };
  return {
    folder,
    env,
    run: execute,
    async compile(files, options) {
      const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
      const types = ['--types', 'node', '--typeRoots', path.join(root, 'node_modules/@types')];
      await execute(process.execPath, [compiler, '--strict', '--target', 'es2022', ...types, ...options, ...files]);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Copies a file of this repository into the project. */
export async function copyIntoProject(project: InstalledProject, from: string, to: string): Promise<void> {
  const target = path.join(project.folder, to);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, await readFile(path.join(root, from)));
}

async function installedVersion(name: string): Promise<string> {
  const text = await readFile(path.join(root, 'node_modules', name, 'package.json'), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

/** The environment without npm's variables, which would make an npm in the project use this repository. */
export function environmentOutsideNpm(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && name !== 'INIT_CWD');
  return Object.fromEntries(entries);
}
