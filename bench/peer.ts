import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { app, startLimitedService } from './support/service-processes';

/**
 * The same files converted by `fileconv batch run` and by the public client `vertopal` of the Python package index, against one embedded
 * service that counts requests. Both are timed as a person would: from the command to its end; `fileconv up` and the service run before. Then each
 * is given a file that can't be converted. Without pip or the package it says so and measures nothing.
 */
const { values: options } = parseArgs({
  options: { files: { type: 'string', default: '12' }, to: { type: 'string', default: 'pdf' } },
});
const files = Number(options.files);
const packageVersion = '2.2.0';
const generous = 1_000_000;
const rateLimits = { windowSeconds: 60, upload: generous, submit: generous, poll: generous, download: generous };
const main = path.resolve(__dirname, '../../../../dist/cli/main.js');
const run = promisify(execFile);

interface Ended {
  seconds: number;
  exitCode: number;
}

async function bench(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-bench-'));
  const site = path.join(folder, 'site');
  try {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', site, `vertopal==${packageVersion}`], {
      timeout: 120_000,
    });
  } catch (error) {
    console.log(JSON.stringify({ skipped: `pip could not install vertopal ${packageVersion}: ${String(error)}` }));
    await rm(folder, { recursive: true });
    return;
  }
  const service = await startLimitedService(path.join(folder, 'service'), rateLimits);
  const ours = path.join(folder, 'ours');
  const theirs = path.join(folder, 'theirs');
  await writeFiles(ours);
  await writeFiles(theirs);
  const config = path.join(folder, 'fileconv.toml');
  await writeFile(
    config,
    `default_app = "bench"\n[apps.bench]\nbase_url = "${service.baseUrl}"\napp_id = "${app.appId}"\ntoken_env = "BENCH_TOKEN"\n`,
  );
  // Where the client looks for its configuration: the home folder.
  await writeFile(
    path.join(folder, '.vertopal'),
    `[api]\napp = ${app.appId}\ntoken = ${app.token}\nendpoint = ${service.baseUrl}\n`,
  );
  // A Temporal that happens to run would be used instead of the stack's own.
  const env = { ...process.env, BENCH_TOKEN: app.token, TEMPORAL_ADDRESS: undefined };
  const up = spawn(process.execPath, [main, 'up', '--json', '--config', config], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(up.stdout, 'data');
  const fileconv = (...args: string[]) =>
    time(process.execPath, [main, 'batch', 'run', ...args, '--to', options.to, '--config', config], {
      cwd: folder,
      env,
    });
  const client = 'from vertopal.vertopal import main; main()';
  const vertopal = (...args: string[]) =>
    time('python3', ['-c', client, 'convert', ...args, '--to', options.to], {
      cwd: folder,
      env: { ...env, HOME: folder, PYTHONPATH: site },
    });
  const requests = async () => (await service.requests()).length;
  try {
    // Neither pays for what the service loads at its first conversion.
    await writeFiles(path.join(folder, 'warm'), 2);
    await fileconv('warm', '--out', 'warm-out');
    const before = await requests();
    const our = await fileconv('ours', '--out', 'ours-out');
    const between = await requests();
    const their = await vertopal(...(await listed(theirs)));
    const after = await requests();
    await mkdir(path.join(folder, 'bad'));
    await writeFile(path.join(folder, 'bad', 'damaged.docx'), 'not a document');
    const ourBad = await fileconv('bad', '--out', 'bad-out');
    const theirBad = await vertopal(path.join('bad', 'damaged.docx'));
    console.log(
      JSON.stringify({
        ratio: round(their.seconds / our.seconds),
        ourSeconds: round(our.seconds),
        theirSeconds: round(their.seconds),
        ourRequestsPerFile: round((between - before) / files),
        theirRequestsPerFile: round((after - between) / files),
        ourOutputs: await outputs(path.join(folder, 'ours-out')),
        theirOutputs: await outputs(theirs),
        ourExitCode: our.exitCode,
        theirExitCode: their.exitCode,
        ourExitCodeOfBadFile: ourBad.exitCode,
        theirExitCodeOfBadFile: theirBad.exitCode,
        theyMadeTheBadFile: existsSync(path.join(folder, 'bad', `damaged.${options.to}`)),
        files,
        to: options.to,
        packageVersion,
      }),
    );
  } finally {
    const exited = once(up, 'exit');
    up.kill('SIGINT');
    await exited;
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function time(
  command: string,
  args: readonly string[],
  place: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(command, args, { ...place, stdio: ['ignore', 'ignore', 'ignore'] });
  const [exitCode] = (await once(child, 'exit')) as [number];
  return { seconds: (performance.now() - startedAt) / 1_000, exitCode };
}

async function writeFiles(folder: string, count = files): Promise<void> {
  await mkdir(folder);
  for (let file = 1; file <= count; file += 1) {
    const text = `# Report ${file}\n\n${'Some *emphasis*, `code` and plain words.\n\n'.repeat(5)}`;
    await writeFile(path.join(folder, `report-${file}.md`), text);
  }
}

async function listed(folder: string): Promise<string[]> {
  return (await readdir(folder)).map((name) => path.join(folder, name));
}

async function outputs(folder: string): Promise<number> {
  return (await readdir(folder)).filter((name) => name.endsWith(`.${options.to}`)).length;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

void bench();
