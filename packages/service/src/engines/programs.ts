import { execFile, spawn } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ConversionFailure, type EngineRequest, oneLine, ProgramKilled } from './conversion';
import type { Engine, Need, Program } from './engine';

/** External programs that convert. None of them comes with this package. */
export const programs = {
  chromium: { debian: 'chromium', commands: ['chromium', 'chromium-browser', 'google-chrome'] },
  ffmpeg: { debian: 'ffmpeg', commands: ['ffmpeg'], versionFlag: '-version' },
  ffprobe: { debian: 'ffmpeg', commands: ['ffprobe'], versionFlag: '-version' },
  // `soffice` is a link into the folder of the real program, whose libraries decide which documents it opens.
  writer: { debian: 'libreoffice-writer-nogui', commands: ['soffice'], beside: 'libswlo.so' },
  calc: { debian: 'libreoffice-calc-nogui', commands: ['soffice'], beside: 'libsclo.so' },
  impress: { debian: 'libreoffice-impress-nogui', commands: ['soffice'], beside: 'libslideshowlo.so' },
  math: { debian: 'libreoffice-math-nogui', commands: ['soffice'], beside: 'libsmlo.so' },
  tesseract: { debian: 'tesseract-ocr', commands: ['tesseract'] },
} as const satisfies Readonly<Record<string, Program>>;

/** Where packages install programs. PATH depends on who started the service, so it must not decide which programs run. */
const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/homebrew/bin'];

const versionTimeoutMs = 10_000;

export function isHere(need: Need): boolean {
  return 'npm' in need ? packageFile(need.npm) !== undefined : findProgram(need) !== undefined;
}

/** The path of a program, with links resolved. */
export function findProgram({ commands, beside }: Program): string | undefined {
  for (const command of commands) {
    for (const folder of folders) {
      try {
        const file = path.join(folder, command);
        accessSync(file, constants.X_OK);
        const found = realpathSync(file);
        if (beside !== undefined) accessSync(path.join(path.dirname(found), beside));
        return found;
      } catch {
        // Not there.
      }
    }
  }
  return undefined;
}

export function installCommand(needs: readonly Need[]): string {
  const npm = new Set(needs.flatMap((need) => ('npm' in need ? [need.npm] : [])));
  const debian = new Set(needs.flatMap((need) => ('npm' in need ? [] : [need.debian])));
  const commands = [
    ...(npm.size > 0 ? [`npm install ${[...npm].join(' ')}`] : []),
    ...(debian.size > 0 ? [`apt-get install --no-install-recommends ${[...debian].join(' ')}`] : []),
  ];
  return commands.join(' && ');
}

/** Versions of the packages and programs of an engine, as far as they are installed. */
export async function versionsOf(engine: Engine): Promise<string[]> {
  const needs = [...engine.needs, ...engine.families.flatMap((family) => family.needs ?? [])];
  const versions = await Promise.all(
    needs.map((need) => ('npm' in need ? packageVersion(need.npm) : programVersion(need))),
  );
  return [...new Set(versions.filter((version) => version !== undefined))];
}

function packageFile(name: string): string | undefined {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}

async function packageVersion(name: string): Promise<string | undefined> {
  const file = packageFile(name);
  if (file === undefined) return undefined;
  // Not every package exports its package.json.
  const folder = file.slice(0, file.lastIndexOf(path.join('node_modules', name)));
  const manifest: unknown = JSON.parse(await readFile(path.join(folder, 'node_modules', name, 'package.json'), 'utf8'));
  return `${name} ${z.object({ version: z.string() }).parse(manifest).version}`;
}

async function programVersion(program: Program): Promise<string | undefined> {
  const file = findProgram(program);
  if (file === undefined) return undefined;
  const name = path.basename(file);
  try {
    const { stdout, stderr } = await promisify(execFile)(file, [program.versionFlag ?? '--version'], {
      timeout: versionTimeoutMs,
      // Some are scripts that call other programs.
      env: { PATH: folders.join(path.delimiter), HOME: homedir() },
    });
    return `${name} ${/\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? ''}`.trim();
  } catch {
    return name;
  }
}

export function pathOf(program: Program): string {
  const file = findProgram(program);
  if (file !== undefined) return file;
  const name = program.commands[0] ?? 'A program';
  throw new ConversionFailure(`${name} is not here any more. Run: ${installCommand([program])}`);
}

type Input = Pick<EngineRequest, 'inputPath'>;

/** The folder of the conversion process, which outlives its conversions; programs keep their profiles and caches there. */
export function homeOf({ inputPath }: Input): string {
  return path.resolve(inputPath, '../..');
}

export function workFolderOf({ inputPath }: Input): string {
  return path.dirname(inputPath);
}

/** The only environment variables that a program gets. */
export function environmentOf(request: Input): NodeJS.ProcessEnv {
  const home = homeOf(request);
  return { HOME: home, TMPDIR: home, PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', OMP_THREAD_LIMIT: '1' };
}

const keptLetters = 2_000;

/**
 * Runs a program to its end, in the group of this process, so that both are killed together. `says`: the end of its output.
 * @throws ProgramKilled, or an error EFBIG if it has written too large a file.
 */
export async function runProgram(file: string, parameters: readonly string[], request: Input) {
  return new Promise<{ code: number | null; signal: NodeJS.Signals | null; says: string }>((resolve, reject) => {
    const [cwd, env] = [workFolderOf(request), environmentOf(request)];
    const child = spawn(file, parameters, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let says = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (says = (says + text).slice(-keptLetters)));
    }
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const ended = endOfProgram(file, { code, signal, says });
      if (ended) reject(ended);
      else resolve({ code, signal, says });
    });
  });
}

/** The error for an end that says nothing about the input; undefined for any other end. */
export function endOfProgram(
  file: string,
  { code, signal, says }: { code: number | null; signal: NodeJS.Signals | null; says: string },
): Error | undefined {
  const name = path.basename(file);
  if (signal === 'SIGKILL' || code === 128 + 9) return new ProgramKilled(`Something on this machine killed ${name}.`);
  if (signal !== 'SIGXFSZ' && code !== 128 + 25 && (code === 0 || !says.includes('File too large'))) return undefined;
  return Object.assign(new Error(`${name} wrote too large a file.`), { code: 'EFBIG' });
}

/** The last line of a program's output, without paths, which mean nothing to the owner of the file. */
export function lastLine(says: string, { inputPath }: Input): string {
  const lines = says.split('\n').filter((line) => line.trim() !== '');
  const last = lines.at(-1) ?? 'it gives no reason';
  return oneLine(last.replaceAll(inputPath, 'the file').replaceAll(workFolderOf({ inputPath }), ''));
}
