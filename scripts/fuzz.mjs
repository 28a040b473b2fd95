// Fuzzing of the embedded service, bounded in time: requests made by fast-check (packages/service/test/http/fuzz.test.ts, with more runs than
// `npm test` gives it), and requests made by schemathesis from the service's own OpenAPI description.
//
//   npm run fuzz                      90 s of schemathesis, 2,000 requests of fast-check
//   FUZZ_SECONDS=600 FUZZ_RUNS=20000 npm run fuzz
//
// schemathesis is a Python program: it is installed into a folder of its own in the temporary folder, in a pinned version. Without
// Python, or without a package index, that half is left out, and the script says so.
import { Blob } from 'node:buffer';
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fetch, FormData } from 'undici';

const root = path.resolve(import.meta.dirname, '..');
const seconds = process.env.FUZZ_SECONDS ?? '90';
const runs = process.env.FUZZ_RUNS ?? '2000';
const version = '4.32.5';

const folder = mkdtempSync(path.join(tmpdir(), 'fileconv-fuzz-'));
try {
  const good = [fuzzWithFastCheck(), await fuzzWithSchemathesis()];
  process.exitCode = good.includes(false) ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Whether nothing was found. */
function fuzzWithFastCheck() {
  console.log(`fast-check: ${runs} requests`);
  const jest = path.join(root, 'node_modules/jest/bin/jest.js');
  // The service needs no Temporal; without an address jest would start one.
  const env = { ...process.env, FUZZ_RUNS: runs, TEST_TEMPORAL_ADDRESS: 'none' };
  const options = { cwd: root, env, stdio: 'inherit', timeout: 600_000 };
  const { status } = spawnSync(
    process.execPath,
    [jest, 'packages/service/test/http/fuzz.test.ts', '--testTimeout=540000'],
    options,
  );
  return status === 0;
}

/** Whether nothing was found, or undefined when schemathesis is not to be had. */
async function fuzzWithSchemathesis() {
  const program = installSchemathesis();
  if (program === undefined) return undefined;
  const entry = path.join(root, 'packages/service/dist/index.js');
  if (!existsSync(entry)) throw new Error('dist is missing; run: npm run build');
  const { startConversionService } = createRequire(import.meta.url)(entry);
  const app = { name: 'fuzz', appId: randomUUID() };
  const token = randomUUID();
  const logged = [];
  const service = await startConversionService({
    dataDir: path.join(folder, 'service'),
    apps: [{ ...app, tokenSha256: createHash('sha256').update(token).digest('hex') }],
    log: (line) => logged.push(line),
  });
  try {
    const description = path.join(folder, 'openapi.json');
    writeFileSync(description, JSON.stringify(await describeFor(service.url, { appId: app.appId, token })));
    const started = Date.now();
    const rssBefore = process.memoryUsage.rss();
    const { status, output } = await run(program, [
      ...['run', description, '--url', service.url, '-H', `Authorization: Bearer ${token}`],
      ...['--checks', 'all'],
      // 403 is what the service answers where HTTP would say 401, and refusals of right-looking data are the document's.
      ...['--exclude-checks', 'missing_required_header,positive_data_acceptance'],
      ...['--phases', 'examples,coverage,fuzzing', '--max-time', seconds, '--max-examples', '200'],
      ...['--continue-on-failure', '--request-timeout', '30', '--no-color', '--warnings', 'off'],
      ...['--report-dir', path.join(folder, 'report')],
    ]);
    const generated = /(\d+) generated[^\n]*/.exec(output)?.[0] ?? 'no figures';
    const failures = logged.filter((line) => line.includes(' failed: '));
    const took = Math.round((Date.now() - started) / 1000);
    const mib = (bytes) => Math.round(bytes / 2 ** 20);
    if (status !== 0) console.log(output.slice(-12_000));
    for (const line of new Set(failures)) console.log(line);
    console.log(
      `schemathesis ${version}: ${generated}, ${failures.length} server errors, ${took} s, service alive: ${await isAlive(service.url)}, memory ${mib(rssBefore)} → ${mib(process.memoryUsage.rss())} MiB`,
    );
    return status === 0 && failures.length === 0;
  } finally {
    await service.close();
  }
}

/** The path of the program; undefined when it is not there and cannot be installed. */
function installSchemathesis() {
  const venv = path.join(tmpdir(), `fileconv-schemathesis-${version}`);
  const program = path.join(venv, process.platform === 'win32' ? 'Scripts/schemathesis.exe' : 'bin/schemathesis');
  if (existsSync(program)) return program;
  console.log(`schemathesis ${version} is installed into ${venv}`);
  const python = process.platform === 'win32' ? 'python' : 'python3';
  const pip = path.join(path.dirname(program), 'pip');
  const steps = [
    [python, '-m', 'venv', venv],
    [pip, 'install', '--quiet', '--disable-pip-version-check', `schemathesis==${version}`],
  ];
  for (const [command, ...args] of steps) {
    if (spawnSync(command, args, { stdio: 'inherit', timeout: 300_000 }).status !== 0) {
      rmSync(venv, { recursive: true, force: true });
      console.log('schemathesis is left out: it needs Python 3 with venv, and a package index');
      return undefined;
    }
  }
  return program;
}

/** The service's description with an App ID and connectors that exist, so that requests get beyond the first checks. */
async function describeFor(url, { appId, token }) {
  const ask = async (endpoint, data, file) => {
    const form = new FormData();
    form.set('data', JSON.stringify({ app: appId, ...data }));
    if (file) form.set('file', new Blob([file.text]), file.name);
    const response = await fetch(`${url}/v1/${endpoint}`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${token}` },
    });
    return (await response.json()).result.output.connector;
  };
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="2"/>';
  const upload = await ask('upload/file', {}, { name: 'dot.svg', text: svg });
  const converted = await ask('convert/file', { connector: upload, parameters: { output: 'png' } });
  const link = await ask('download/url', { connector: converted });
  const connectors = [upload, converted, link];
  const replace = (value, key) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    if (key === 'app' && value.type === 'string') return { type: 'string', enum: [appId] };
    if (key === 'connector' && value.pattern !== undefined) return { type: 'string', enum: connectors };
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replace(each, name)]));
  };
  const description = await (await fetch(`${url}/openapi.json`)).json();
  // Only requests: answers describe connectors of tasks to come. The description itself is no task.
  const paths = Object.entries(description.paths).flatMap(([name, { post }]) =>
    post ? [[name, { post: { ...post, requestBody: replace(post.requestBody) } }]] : [],
  );
  return { ...description, paths: Object.fromEntries(paths) };
}

async function isAlive(url) {
  return fetch(`${url}/openapi.json`).then(
    (response) => response.ok,
    () => false,
  );
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, output }));
  });
}
