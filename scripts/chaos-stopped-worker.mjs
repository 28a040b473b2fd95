// npm run chaos -- --stopped [--runs 5] [--files 40] [--seconds 20] [--choices fail,skip,overwrite,rename]: two workers on one stack;
// one is stopped with SIGSTOP while results get their names, and wakes after so many seconds, in every other run not before the other
// one has done all the work. Each result is replaced by something newer as soon as its job has ended. Prints a line for each stop and a
// JSON line at the end. Exit code 1 when a newer file was replaced, a job has a second result, a file is left over, or a job is lost.
import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ChaosStack } from './chaos-stack.mjs';
import { playOn } from './play.mjs';

const usage =
  'Usage: npm run chaos -- --stopped [--runs 5] [--files 40] [--seconds 20] [--choices fail,skip,overwrite,rename]';
const choices = ['fail', 'skip', 'overwrite', 'rename'];
const roundTimeoutMs = 180_000;
/** What a worker that woke still had to do, it has done by then. */
const settleMs = 5_000;
/** So that many are on their way whenever the worker is stopped. */
const slowDownloads = '[[faults]]\nkind = "latency"\nms = 1_500\nendpoint = "download/url/get"\n';
const policies = {
  firstCheckAfter: 100,
  maxCheckInterval: '1 second',
  retryInitialInterval: 200,
  retryMaximumInterval: '2 seconds',
};

/** Plays all rounds and ends the process. */
export async function playStops() {
  const options = readArguments();
  const stack = new ChaosStack({ config: '[service]\nfaults_file = "faults.toml"\n' });
  writeFileSync(path.join(stack.folder, 'faults.toml'), slowDownloads);
  await playOn(stack, options, async () => {
    const summary = { stops: 0, jobs: 0, newerReplaced: 0, secondResults: 0, problems: [] };
    const worker = await startWorker(stack);
    for (let run = 1; run <= options.runs; run += 1) {
      for (const choice of options.choices) await playRound(stack, worker, { ...options, run, choice }, summary);
    }
    worker.kill('SIGTERM');
    return summary;
  });
}

/** The second worker; the stack's own is watched by `up`. */
async function startWorker(stack) {
  const worker = stack.spawnCommand(['worker']);
  let printed = '';
  for (const stream of [worker.stdout, worker.stderr]) stream.on('data', (chunk) => (printed += chunk));
  const deadline = Date.now() + 60_000;
  while (!printed.includes('Worker on task queue')) {
    if (worker.exitCode !== null || Date.now() > deadline) throw new Error(`No second worker: ${printed}`);
    await sleep(100);
  }
  return worker;
}

async function playRound(stack, worker, { run, choice, files, seconds }, summary) {
  const out = path.join(stack.folder, 'out', `${run}-${choice}`);
  mkdirSync(out, { recursive: true });
  const client = await stack.client();
  const jobs = Array.from({ length: files }, (_, index) => makeJob(stack, out, `${choice}-${run}-${index}`));
  const waiting = jobs.map((job) => runJob(client, job, choice));
  const stopAfter = randomInt(Math.ceil(files / 2));
  const deadline = Date.now() + roundTimeoutMs;
  while (readdirSync(out).filter((name) => !name.startsWith('.')).length < stopAfter && Date.now() < deadline) {
    await sleep(2);
  }
  await sleep(randomInt(20));
  worker.kill('SIGSTOP');
  const all = Promise.race([Promise.all(waiting), sleep(roundTimeoutMs, undefined, { ref: false })]);
  await sleep(seconds * 1_000);
  // In every other run it wakes while the other one may still be at it.
  if (run % 2 === 1) await all;
  worker.kill('SIGCONT');
  await all;
  await sleep(settleMs);
  const { problems, newerReplaced, secondResults } = judge(out, jobs);
  summary.stops += 1;
  summary.jobs += files;
  summary.newerReplaced += newerReplaced;
  summary.secondResults += secondResults;
  summary.problems.push(...problems);
  console.log(
    `run ${run}, ${choice}: stopped after ${stopAfter} results, ${newerReplaced} newer replaced, ${secondResults} second`,
  );
}

function makeJob(stack, out, id) {
  const source = path.join(stack.folder, 'in', `${id}.md`);
  mkdirSync(path.dirname(source), { recursive: true });
  writeFileSync(source, `# Report ${id}\n\n${'Plain words. '.repeat(randomInt(1, 2_000))}\n`);
  return { id, source, destination: path.join(out, `${id}.html`), newer: path.join(stack.folder, 'in', `${id}.newer`) };
}

/** Whoever is told of the result at once puts something newer in its place. */
async function runJob(client, job, onExisting) {
  const { id, source, destination, newer } = job;
  try {
    const handle = await client.start(
      { source, output: 'html', destination, onExisting, policies },
      { workflowId: `stopped-${id}` },
    );
    const { status, output } = await handle.result();
    job.outcome = status;
    if (status === 'succeeded' && fileURLToPath(output.uri) !== destination) job.outcome = `at ${output.uri}`;
    writeFileSync(newer, newerText(id));
    renameSync(newer, destination);
  } catch (error) {
    job.outcome = `${error.code}: ${error.message}`;
  }
}

function judge(out, jobs) {
  const lost = jobs.filter(({ outcome }) => outcome !== 'succeeded');
  const replaced = jobs.filter(({ id, destination, outcome }) => outcome && readOf(destination) !== newerText(id));
  const names = new Set(jobs.map(({ destination }) => path.basename(destination)));
  const others = readdirSync(out).filter((name) => !names.has(name));
  const second = others.filter((name) => !name.startsWith('.'));
  return {
    newerReplaced: replaced.length,
    secondResults: second.length,
    problems: [
      ...lost.map(({ id, outcome = 'not finished' }) => `${id}: ${outcome}`),
      ...replaced.map(({ id }) => `${id}: its newer file was replaced`),
      ...others.map((name) => `left over: ${name}`),
    ],
  };
}

function newerText(id) {
  return `newer than ${id}`;
}

function readOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      stopped: { type: 'boolean' },
      runs: { type: 'string', default: '5' },
      files: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '20' },
      choices: { type: 'string', default: choices.join(',') },
    },
  });
  const numbers = [values.runs, values.files, values.seconds].map(Number);
  const chosen = values.choices.split(',');
  const isUsable = numbers.every((value) => Number.isInteger(value) && value > 0);
  if (isUsable && chosen.every((choice) => choices.includes(choice))) {
    const [runs, files, seconds] = numbers;
    return { runs, files, seconds, choices: chosen };
  }
  console.error(usage);
  process.exit(2);
}
