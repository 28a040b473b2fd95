import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = path.resolve(__dirname, '../../node_modules/.cache');

export const hasPython = spawnSync('python3', ['--version']).status === 0;

/** The Python of a virtual environment with a program's requirements, which is cached for later runs. */
export async function pythonFor(requirementsFile: string): Promise<string> {
  const requirements = await readFile(requirementsFile);
  const folder = path.join(cache, `python-${createHash('sha256').update(requirements).digest('hex').slice(0, 16)}`);
  const python = path.join(folder, 'bin/python');
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return python;
  await rm(folder, { recursive: true, force: true });
  await run('python3', ['-m', 'venv', folder]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirementsFile]);
  await writeFile(complete, '');
  return python;
}
