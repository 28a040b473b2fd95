import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ensureEmbeddedApp } from '../packages/service/src/accounts/embedded-app';
import { freePort } from '../packages/cli/src/dev-server';
import { median, round } from './support/figures';
import { measure, type Setting } from './support/measurement';

/**
 * The same files converted by `fileconv batch run` and by the public client `vertopal` of the Python package index, against the embedded service
 * of one `fileconv up`, everything at its default settings. Both are timed as a person would: from the command to its end. Then each
 * is given a file that can't be converted. Without pip or the package it says so and measures nothing.
 */
const { values: options } = parseArgs({
  options: {
    files: { type: 'string', default: '12' },
    to: { type: 'string', default: 'pdf' },
    /** Batches of ours, of which the median counts; theirs sleeps for most of its time, and once is enough. */
    rounds: { type: 'string', default: '5' },
  },
});
const files = Number(options.files);
const rounds = Number(options.rounds);
const packageVersion = '2.2.0';
/** The service loads its engine once for each processor; neither client is to pay for that. */
const firstFiles = 2;
/** What the stack has converted before it counts as one that has been in use: by then its JavaScript is compiled. */
const warmFiles = 60;
const main = path.resolve(__dirname, '../../../../packages/cli/dist/main.js');
const run = promisify(execFile);

interface Ended {
  seconds: number;
  exitCode: number;
}

async function bench({ folder, owns }: Setting) {
  const site = path.join(folder, 'site');
  try {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', site, `vertopal==${packageVersion}`], {
      timeout: 120_000,
    });
  } catch (error) {
    return { skipped: `pip could not install vertopal ${packageVersion}: ${String(error)}` };
  }
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  const env = {
    ...process.env,
    // A Temporal that happens to run would be used instead of the stack's own.
    TEMPORAL_ADDRESS: undefined,
    // Where requests are counted.
    FILECONV_SERVICE_METRICS_ADDRESS: metricsAddress,
    // Other stacks may run here.
    FILECONV_SERVICE_PORT: '0',
    FILECONV_CALLBACKS_PORT: '0',
  };
  const up = spawn(process.execPath, [main, 'up', '--json'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owns({
    async stop() {
      const exited = once(up, 'exit');
      up.kill('SIGINT');
      await exited;
    },
  });
  await once(up.stdout, 'data');
  const state = path.join(folder, '.fileconv');
  const record = JSON.parse(await readFile(path.join(state, 'stack.json'), 'utf8')) as { service: { url: string } };
  const embedded = await ensureEmbeddedApp(path.join(state, 'service'));
  const token = (await readFile(embedded.tokenFile, 'utf8')).trim();
  // Where the client looks for its configuration: the home folder.
  await writeFile(
    path.join(folder, '.vertopal'),
    `[api]\napp = ${embedded.appId}\ntoken = ${token}\nendpoint = ${record.service.url}\n`,
  );
  const fileconv = (...args: string[]) =>
    time(process.execPath, [main, 'batch', 'run', ...args, '--to', options.to], { cwd: folder, env });
  const client = 'from vertopal.vertopal import main; main()';
  const vertopal = (...args: string[]) =>
    time('python3', ['-c', client, 'convert', ...args, '--to', options.to], {
      cwd: folder,
      env: { ...env, HOME: folder, PYTHONPATH: site },
    });
  const requests = () => countRequests(`http://${metricsAddress}/metrics`);
  const ours = Array.from({ length: rounds }, (_, round) => `ours-${round + 1}`);
  const theirs = path.join(folder, 'theirs');
  for (const name of ours) await writeFiles(path.join(folder, name));
  await writeFiles(theirs);
  await writeFiles(path.join(folder, 'first'), firstFiles);
  await writeFiles(path.join(folder, 'cold'));
  await writeFiles(path.join(folder, 'warm'), warmFiles);
  await fileconv('first', '--out', 'first-out');
  const cold = await fileconv('cold', '--out', 'cold-out');
  await fileconv('warm', '--out', 'warm-out');
  const before = await requests();
  const our: Ended[] = [];
  for (const name of ours) our.push(await fileconv(name, '--out', `${name}-out`));
  const ourSeconds = median(our.map(({ seconds }) => seconds));
  const between = await requests();
  const their = await vertopal(...(await listed(theirs)));
  const after = await requests();
  await mkdir(path.join(folder, 'bad'));
  await writeFile(path.join(folder, 'bad', 'damaged.docx'), 'not a document');
  const ourBad = await fileconv('bad', '--out', 'bad-out');
  const theirBad = await vertopal(path.join('bad', 'damaged.docx'));
  return {
    ratio: round(their.seconds / ourSeconds),
    ourSeconds: round(ourSeconds),
    ourSlowestSeconds: round(Math.max(...our.map(({ seconds }) => seconds))),
    coldRatio: round(their.seconds / cold.seconds),
    ourColdSeconds: round(cold.seconds),
    theirSeconds: round(their.seconds),
    ourRequestsPerFile: round((between - before) / (files * rounds)),
    theirRequestsPerFile: round((after - between) / files),
    ourOutputs: await outputs(...ours.map((name) => path.join(folder, `${name}-out`))),
    theirOutputs: await outputs(theirs),
    ourExitCode: Math.max(...our.map(({ exitCode }) => exitCode)),
    theirExitCode: their.exitCode,
    ourExitCodeOfBadFile: ourBad.exitCode,
    theirExitCodeOfBadFile: theirBad.exitCode,
    theyMadeTheBadFile: existsSync(path.join(folder, 'bad', `damaged.${options.to}`)),
    files,
    rounds,
    to: options.to,
    packageVersion,
  };
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

/** Requests that the service has answered, by its own metrics. */
async function countRequests(url: string): Promise<number> {
  const text = await (await fetch(url)).text();
  const counts = text.matchAll(/^fileconv_service_requests_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
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

async function outputs(...folders: string[]): Promise<number> {
  const names = await Promise.all(folders.map((folder) => readdir(folder)));
  return names.flat().filter((name) => name.endsWith(`.${options.to}`)).length;
}

void measure(bench);
