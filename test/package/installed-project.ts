import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const root = path.resolve(__dirname, '../..');

/** An empty project with the packed package and `@temporalio/*` in it, and nothing of this repository around it. */
export interface InstalledProject {
  folder: string;
  /** Compiles files of the project as its owner would, with the compiler of this repository. */
  compile(files: readonly string[], options: readonly string[]): Promise<void>;
  /** Runs a program of the project and returns what it prints. */
  run(program: string, args: readonly string[]): Promise<string>;
  env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

export interface Tarballs {
  plugin: string;
  service: string;
  cli: string;
}

/** Packs what `npm run build` built, which belongs to `npm test`: to build here would take dist away from the tests that run beside. */
export async function packAll(folder: string): Promise<Tarballs> {
  const script = `import { packAll } from ${JSON.stringify(path.join(root, 'scripts/pack.mjs'))};
    console.log(JSON.stringify(packAll(${JSON.stringify(folder)})));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  return z.object({ plugin: z.string(), service: z.string(), cli: z.string() }).parse(JSON.parse(stdout));
}

/** The tarball of the plugin in an empty project, beside what its users have of Temporal. */
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

/** Copies a file of this repository into the project, under a name that may be another one. */
export async function copyIntoProject(project: InstalledProject, from: string, to: string): Promise<void> {
  const target = path.join(project.folder, to);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, await readFile(path.join(root, from)));
}

async function installedVersion(name: string): Promise<string> {
  const text = await readFile(path.join(root, 'node_modules', name, 'package.json'), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

/** What npm sets for the script that it runs would make an npm in there work on this repository. */
export function environmentOutsideNpm(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && name !== 'INIT_CWD');
  return Object.fromEntries(entries);
}
