// npm run chaos [-- --rounds 10 --files 20 --kills 5]: real conversions through `fileconv up` while its processes are killed with
// kill -9, one by one and all at once. Prints a line for each round and a JSON line at the end. Exit code 1 when a job is lost, an output
// is not whole, a file is left over, a process outlives Ctrl-C, or the service ran a conversion again that no job owns up to.
// With --batch: the same for one batch of many files (chaos-batch.mjs). With --stopped: a worker is stopped and wakes (chaos-stopped-worker.mjs).
import { createHash, randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ChaosStack, roles } from './chaos-stack.mjs';

const require = createRequire(import.meta.url);
const Database = require('libsql');
const { ConversionFailedError } = require('../dist/index.js');

if (process.argv.includes('--batch')) await (await import('./chaos-batch.mjs')).playBatch();
if (process.argv.includes('--stopped')) await (await import('./chaos-stopped-worker.mjs')).playStops();

const { rounds, files, kills } = readArguments();
const roundTimeoutMs = 180_000;
const policies = {
  firstCheckAfter: 200,
  maxCheckInterval: '2 seconds',
  retryInitialInterval: 200,
  retryMaximumInterval: '2 seconds',
  // Of a submit that ended with its worker before it was sent, no callback comes.
  unknownOutcomeWait: '5 seconds',
};

/** What is converted, and how to tell that the result is all of it. */
const kinds = [
  {
    from: 'md',
    to: 'docx',
    make: markdown,
    isWhole: (bytes) => bytes.lastIndexOf('PK\x05\x06') > bytes.lastIndexOf('PK\x01\x02'),
  },
  { from: 'md', to: 'html', make: markdown, isWhole: (bytes, marker) => bytes.includes(marker) },
  { from: 'csv', to: 'html', make: table, isWhole: (bytes, marker) => bytes.includes(marker) },
  { from: 'svg', to: 'png', make: drawing, isWhole: (bytes) => bytes.subarray(-8, -4).toString() === 'IEND' },
  { from: 'md', to: 'pdf', make: markdown, isWhole: (bytes) => bytes.subarray(-32).includes('%%EOF') },
];
const targets = [['temporal'], ['up'], roles];

const startedAt = Date.now();
const totals = { rounds: 0, jobs: 0, succeeded: 0, kills: 0, chargedTwiceRecorded: 0, problems: [] };
const stack = new ChaosStack();
const giveUp = async () => {
  await stack.remove();
  process.exit(130);
};
process.once('SIGINT', giveUp);
process.once('SIGTERM', giveUp);
try {
  await stack.start();
  while (totals.rounds < rounds && totals.problems.length === 0) await playRound(totals.rounds + 1);
  const left = await stack.stop();
  if (left.length > 0) totals.problems.push(`after Ctrl-C these are left: ${left.join(', ')}`);
} catch (error) {
  totals.problems.push(String(error.stack ?? error));
}
const failed = totals.problems.length > 0;
if (failed) console.log(`State, logs and outputs are kept in ${stack.folder}`);
if (failed) await stack.kill(roles);
else await stack.remove();
console.log(JSON.stringify({ ...totals, files, seconds: seconds(startedAt) }));
process.exit(failed ? 1 : 0);

async function playRound(number) {
  const began = Date.now();
  const deadline = began + roundTimeoutMs;
  const jobs = Array.from({ length: files }, (_, index) => makeJob(number, index));
  const hits = [];
  const running = Promise.all(jobs.map((job) => runJob(job, deadline)));
  const killing = killNowAndThen(hits);
  await Promise.all([running, killing]);
  await allRunning(deadline);
  const problems = [...jobs.flatMap(judge), ...judgeFolder(number, jobs)];
  totals.rounds = number;
  totals.jobs += jobs.length;
  totals.kills += hits.length;
  totals.succeeded += jobs.filter(({ result }) => result?.status === 'succeeded').length;
  totals.chargedTwiceRecorded += jobs.filter(({ result }) => result?.possiblyChargedTwice).length;
  totals.problems.push(...problems);
  console.log(
    `round ${number}: ${jobs.length} jobs, ${seconds(began)} s, killed ${hits.join(' ')}, ${problems.length} problems`,
  );
  for (const problem of problems) console.log(`  ${problem}`);
}

function makeJob(round, index) {
  const kind = kinds[index % kinds.length];
  const id = `r${round}-f${index}`;
  const source = path.join(stack.folder, 'in', `${id}.${kind.from}`);
  mkdirSync(path.dirname(source), { recursive: true });
  writeFileSync(source, kind.make(id));
  return { id, kind, source, destination: path.join(outFolder(round), `${id}.${kind.to}`) };
}

function outFolder(round) {
  return path.join(stack.folder, 'out', String(round));
}

/** Starts the job and waits for it, through whatever happens to Temporal meanwhile. */
async function runJob(job, deadline) {
  for (let started = false; Date.now() < deadline;) {
    try {
      const client = await stack.client();
      const { kind, source, destination } = job;
      if (!started) await client.start({ source, output: kind.to, destination, policies }, { workflowId: job.id });
      started = true;
      job.result = await client.get(job.id).result();
      return;
    } catch (error) {
      if (error.name === 'WorkflowExecutionAlreadyStartedError') started = true;
      else if (error instanceof ConversionFailedError) {
        job.error = error;
        return;
      } else await sleep(300);
    }
  }
}

async function killNowAndThen(hits) {
  for (let count = 0; count < kills; count += 1) {
    await sleep(randomInt(300, 4_000));
    const target = targets[randomInt(targets.length)];
    if ((await stack.kill(target)) > 0) hits.push(target.length === roles.length ? 'all' : target.join('+'));
  }
}

async function allRunning(deadline) {
  for (;;) {
    const running = (await stack.processes()).map(({ role }) => role);
    if (stack.failure) throw stack.failure;
    if (roles.every((role) => running.includes(role))) return;
    if (Date.now() > deadline) throw new Error(`Only these run again: ${running.join(', ')}`);
    await sleep(200);
  }
}

function judge({ id, kind, destination, result, error }) {
  if (error) return [`${id}: lost, ${error.code}: ${error.message}`];
  if (!result) return [`${id}: lost, not finished after ${roundTimeoutMs / 1_000} s`];
  const problems = [];
  const bytes = existsSync(destination) ? readFileSync(destination) : undefined;
  if (fileURLToPath(result.output.uri) !== destination || !bytes) problems.push(`${id}: no output at ${destination}`);
  else if (createHash('sha256').update(bytes).digest('hex') !== result.output.sha256)
    problems.push(`${id}: not what was downloaded`);
  else if (!kind.isWhole(bytes, endMarker(id))) problems.push(`${id}: not whole, ${bytes.length} bytes`);
  const conversions = countConversions(id);
  if (conversions > 1 && !result.possiblyChargedTwice)
    problems.push(`${id}: converted ${conversions} times, and the job says once`);
  if (conversions < 1) problems.push(`${id}: the service knows no conversion`);
  return problems;
}

function judgeFolder(round, jobs) {
  const expected = new Set(jobs.map(({ destination }) => path.basename(destination)));
  const left = readdirSync(outFolder(round)).filter((name) => !expected.has(name));
  return left.map((name) => `left over: ${name}`);
}

/** Conversions that the service has charged or will: failed tasks are not. */
function countConversions(id) {
  const db = new Database(path.join(stack.folder, '.fileconv/service/service.db'), { readonly: true, timeout: 5_000 });
  try {
    const query = `SELECT count(*) AS n FROM tasks WHERE endpoint LIKE '%convert/file' AND error_code IS NULL AND file_name LIKE ?`;
    return db.prepare(query).get(`${id}.%`).n;
  } finally {
    db.close();
  }
}

function endMarker(id) {
  return `end-of-${id}`;
}

function markdown(id) {
  const paragraph = 'Some *emphasis*, `code`, [a link](http://example.com) and plain words after that.\n\n';
  return `# Report ${id}\n\n${paragraph.repeat(randomInt(1, 200))}${endMarker(id)}\n`;
}

function table(id) {
  const rows = Array.from({ length: randomInt(1, 300) }, (_, index) => `${index},row ${index}`);
  return `number,text\n${rows.join('\n')}\n0,${endMarker(id)}\n`;
}

function drawing() {
  return '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200"><circle cx="99" cy="99" r="80" fill="#06c"/></svg>';
}

function seconds(since) {
  return Math.round((Date.now() - since) / 100) / 10;
}

function readArguments() {
  const options = { rounds: { type: 'string' }, files: { type: 'string' }, kills: { type: 'string' } };
  const { values } = parseArgs({ options });
  const read = (name, fallback) => {
    const value = Number(values[name] ?? fallback);
    if (Number.isInteger(value) && value > 0) return value;
    console.error(
      `--${name} must be a whole number above 0. Usage: npm run chaos [-- --rounds 10 --files 20 --kills 5]`,
    );
    process.exit(2);
  };
  return { rounds: read('rounds', 10), files: read('files', 20), kills: read('kills', 5) };
}
