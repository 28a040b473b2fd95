// npm run fleet [-- --items 10000] [--kills 30] [--workers 4] [--receivers 2]: a batch of real conversions, from one bucket into another, by a fleet
// that shares no folder: Temporal on PostgreSQL, an S3 server, the embedded service, workers and callback receivers, each in a folder of its
// own, and in a network namespace of its own where this user may make them. Meanwhile workers, receivers, the service and Temporal are killed at random moments. Prints a JSON line at the end. Exit code 1 when an
// item is in no state or in two, an object is missing, left over or not whole, or the service, the histories, the rows and the reports do not
// tell the same of what was charged (test/support/invariant.ts). Needs PostgreSQL and Go, and says so.
import { createHash, randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { URL } from 'node:url';
import { parseArgs } from 'node:util';
import { conversionsAt, countBy, loadInvariant, readLines, secondsSince } from './batch-ledger.mjs';
import { Fleet } from './fleet/fleet.mjs';
import { enterNetwork } from './fleet/network.mjs';
import { findTools } from './fleet/tools.mjs';
import { playOn } from './play.mjs';

const doomed = ['worker', 'receiver', 'service', 'temporal'];
/** Exit code of a batch that the command could not follow to its end. */
const couldNotRun = 3;
const runsFolder = '.fileconv/batches/fleet';
const results = ['results.jsonl', 'manifest.jsonl'];

async function main() {
  const options = readArguments();
  const tools = await findTools().catch((error) => {
    console.error(error.message);
    process.exit(2);
  });
  // With the tools at hand: Go builds them from the network that is left here.
  await enterNetwork();
  const fleet = new Fleet({ ...options, tools });
  await playOn(fleet, options, () => play(fleet, options));
}

async function play(fleet, { items, kills }) {
  const startedAt = Date.now();
  writeSources(fleet, items);
  const over = { yet: false };
  const running = convertAll(fleet).finally(() => (over.yet = true));
  const [{ report, code, commands }, met] = await Promise.all([running, killNowAndThen(fleet, { items, kills, over })]);
  const took = secondsSince(startedAt);
  const runs = runFolders(fleet);
  const rows = runs.flatMap((run) => rowsOf(run));
  const conversions = conversionsAt(path.join(fleet.folder, 'service/.fileconv/service')).map(({ taskId, output }) => ({
    taskId,
    file: output.replace(/\.html$/, '.md'),
  }));
  const { chargeProblems } = await loadInvariant(path.basename(fleet.folder));
  const problems = [
    ...(code === 0 ? [] : [`exit code ${code}: ${JSON.stringify(report.counts ?? report)}`]),
    ...judgeRows(fleet, rows, items),
    ...judgeBucket(fleet, items),
    ...(await chargeProblems(conversions, runs, await fleet.temporal())),
    ...(met.length < kills ? [`The batch was over after ${met.length} kills.`] : []),
  ];
  return {
    problems,
    met: countBy(met),
    counts: countBy(rows.map(({ status }) => status)),
    runs: runs.length,
    conversions: conversions.length,
    extraConversions: conversions.length - items,
    possiblyChargedTwice: rows.filter(({ possiblyChargedTwice }) => possiblyChargedTwice).length,
    commands,
    batchSeconds: took,
    itemsPerSecond: Math.round((10 * items) / took) / 10,
  };
}

/** Objects appear in the S3 server's folder as they do when somebody uploads them. */
function writeSources(fleet, items) {
  const folder = path.join(fleet.bucket('sources'), 'reports');
  mkdirSync(folder);
  for (let item = 1; item <= items; item += 1) {
    writeFileSync(path.join(folder, `${nameOf(item)}.md`), `# Report ${nameOf(item)}\n\nSome *text*, ${item} times.\n`);
  }
}

const nameOf = (item) => `report-${String(item).padStart(6, '0')}`;

/** Types the same command again when it could not continue, as a person would, and retries what failed. */
async function convertAll(fleet) {
  const commands = [];
  let args = [
    'batch',
    'run',
    's3://sources/reports/',
    '--recursive',
    '--to',
    'html',
    '--out',
    's3://results/',
    '--name',
    'fleet',
  ];
  for (;;) {
    const { code, stdout, stderr } = await fleet.command([...args, '--json']);
    commands.push(code);
    if (code === 0) return { report: JSON.parse(stdout), code, commands };
    if (commands.length > 20) throw new Error(`\`${args.join(' ')}\` ended ${commands.length} times: ${stderr}`);
    if (code === couldNotRun) await sleep(2_000);
    else if (code === 1) args = ['batch', 'retry', 'fleet'];
    else throw new Error(`\`${args.join(' ')}\` ended with ${code}: ${stderr}`);
  }
}

/** Evenly over the batch, each at a random moment; resolves with what was met. */
async function killNowAndThen(fleet, { items, kills, over }) {
  const met = [];
  for (let index = 0; index < kills; index += 1) {
    const due = Math.floor((0.9 * items * (index + 0.5)) / kills);
    while (outputsOf(fleet) < due && !over.yet) await sleep(200);
    await sleep(randomInt(0, 500));
    const candidates = fleet.membersOf(doomed[index % doomed.length]);
    const name = candidates[randomInt(candidates.length)];
    while (!over.yet && !fleet.kill(name)) await sleep(100);
    if (over.yet) break;
    met.push(name.split('-')[0]);
  }
  return met;
}

function judgeRows(fleet, rows, items) {
  const problems = [];
  const latest = new Map();
  for (const row of rows) {
    const before = latest.get(row.source);
    if (before?.run === row.run) problems.push(`${row.source}: two results in one run`);
    if (row.status !== 'skipped' || before?.status !== 'succeeded') latest.set(row.source, row);
  }
  if (latest.size !== items) problems.push(`${latest.size} rows of ${items} items`);
  for (const { source, status, code, output } of latest.values()) {
    if (status !== 'succeeded') problems.push(`${source}: ${status} ${code}`);
    else if (hashOf(fleet, output.uri) !== output.sha256) problems.push(`${output.uri}: not the bytes that were told`);
  }
  return problems;
}

/** Every output, with what its source says, and nothing else. */
function judgeBucket(fleet, items) {
  const names = readdirSync(fleet.bucket('results')).filter((name) => name !== '.fileconv' && name !== '.sgwtmp');
  const expected = new Set(Array.from({ length: items }, (_, index) => `${nameOf(index + 1)}.html`));
  const foreign = names.filter((name) => !expected.has(name)).map((name) => `left over: ${name}`);
  const wrong = [...expected].filter((name) => {
    const file = path.join(fleet.bucket('results'), name);
    return !existsSync(file) || !readFileSync(file, 'utf8').includes(`Report ${name.slice(0, -5)}`);
  });
  return [...foreign, ...wrong.map((name) => `${name}: missing, or of another source`), ...uploadsLeft(fleet)];
}

/** The S3 server keeps unfinished multipart uploads in a folder of its own. */
function uploadsLeft(fleet) {
  const folder = path.join(fleet.bucket('results'), '.sgwtmp/multipart');
  return existsSync(folder) ? readdirSync(folder).map((name) => `unfinished upload: ${name}`) : [];
}

function runFolders(fleet) {
  const folder = path.join(fleet.bucket('results'), runsFolder);
  const runs = readdirSync(folder).filter((name) => name.startsWith('run-'));
  return runs
    .sort()
    .map((name) => path.join(folder, name))
    .filter((run) => results.every((file) => existsSync(path.join(run, file))));
}

function rowsOf(run) {
  const sources = new Map(readLines(run, 'manifest.jsonl').map(({ item, source }) => [item, source]));
  return readLines(run, 'results.jsonl').map((result) => ({ ...result, run, source: sources.get(result.item) }));
}

function hashOf(fleet, uri) {
  const { hostname, pathname } = new URL(uri);
  const file = path.join(fleet.bucket(hostname), decodeURIComponent(pathname));
  return existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : undefined;
}

function outputsOf(fleet) {
  return readdirSync(fleet.bucket('results')).filter((name) => name.endsWith('.html')).length;
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      items: { type: 'string', default: '10000' },
      kills: { type: 'string', default: '30' },
      workers: { type: 'string', default: '4' },
      receivers: { type: 'string', default: '2' },
    },
  });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  const isUsable = Object.values(numbers).every((value) => Number.isInteger(value) && value >= 0);
  if (isUsable && numbers.items > 0 && numbers.workers > 0 && numbers.receivers > 0) return numbers;
  console.error('Usage: npm run fleet -- [--items 10000] [--kills 30] [--workers 4] [--receivers 2]');
  process.exit(2);
}

await main();
