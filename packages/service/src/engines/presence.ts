import { execFile } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Engine, Need, Program } from './engine';

/** Where packages put programs. The variable PATH is whoever's started the service, and decides nothing about what it runs. */
const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/homebrew/bin'];

const versionTimeoutMs = 10_000;

export function isHere(need: Need): boolean {
  return 'npm' in need ? packageFile(need.npm) !== undefined : findProgram(need) !== undefined;
}

/** The path of a program, links followed. */
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

/** What to run so that these are installed. */
export function installCommand(needs: readonly Need[]): string {
  const npm = new Set(needs.flatMap((need) => ('npm' in need ? [need.npm] : [])));
  const debian = new Set(needs.flatMap((need) => ('npm' in need ? [] : [need.debian])));
  const commands = [
    ...(npm.size > 0 ? [`npm install ${[...npm].join(' ')}`] : []),
    ...(debian.size > 0 ? [`apt-get install --no-install-recommends ${[...debian].join(' ')}`] : []),
  ];
  return commands.join(' && ');
}

/** Versions of what makes an engine work, as far as it is here. */
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
  // Not every package lets its package.json be resolved.
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
      // Some are scripts, which call others.
      env: { PATH: folders.join(path.delimiter), HOME: homedir() },
    });
    return `${name} ${/\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? ''}`.trim();
  } catch {
    return name;
  }
}
