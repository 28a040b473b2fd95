// npm run endurance [-- --minutes 120]: one `fileconv up` under mixed load. Rounds of a batch that is converted again, single jobs beside it, a
// hot folder, callbacks, a rate limit that tightens in each fourth round, and now and then no vCredits for minutes. Each minute the memory
// and the descriptors of its processes are read (/proc, so Linux alone). Prints a JSON line at the end. Exit code 1 when the last quarter took
// more than 1.05 of the memory of the second, or more descriptors than 1.2 of it, or when something was not converted.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { ChaosStack, impatientPolicies } from './chaos-stack.mjs';
import { ending, playOn } from './play.mjs';

const filesOfABatch = 200;
const plentyOfCredits = 1_000_000;
const withoutCreditsMs = 200_000;
const run = promisify(execFile);
const roles = ['up', 'temporal', 'engines'];
const sampleMs = 60_000;
const roundMs = 60_000;
const singleMs = 2000;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '120' } } });
const options = { minutes: Number(values.minutes) };
const stack = new ChaosStack({
  config: `${impatientPolicies('resubmit')}\n[service]\naccounts_file = "accounts.toml"\n`,
});
const limitSubmits = (submits) =>
  writeFileSync(
    path.join(stack.folder, 'accounts.toml'),
    `[rate_limits]\nwindow_seconds = 10\nsubmit = ${submits}\n\n[apps.embedded]\nvcredits = ${plentyOfCredits}\n`,
  );
limitSubmits(150);
await playOn(stack, options, play);

async function play() {
  const endsAt = Date.now() + options.minutes * 60_000;
  const told = { rounds: 0, converted: 0, single: 0, problems: [] };
  for (const folder of ['in', 'hot']) mkdirSync(path.join(stack.folder, folder));
  for (let n = 0; n < filesOfABatch; n += 1) writeFileSync(path.join(stack.folder, `in/${n}.md`), page(n));
  const hot = ['--every', '5m', '--from', 'hot', '--out', 'hot-out', '--to', 'html', '--when-done', 'move:hot-done'];
  await command(told, 'schedule', 'create', '--name', 'hot', '--settled', '1s', ...hot);
  const samples = [];
  const over = new AbortController();
  const beside = [takeSamples(samples, over.signal), convertSingly(told, over.signal)].map((each) =>
    each.catch((error) => told.problems.push(String(error.stack))),
  );
  while (Date.now() < endsAt) {
    const rest = sleep(roundMs);
    told.rounds += 1;
    limitSubmits(told.rounds % 4 === 0 ? 60 : 150);
    writeFileSync(path.join(stack.folder, `hot/${told.rounds}.md`), page(told.rounds));
    const without = told.rounds % 15 === 5 ? parkAWhile(told) : undefined;
    const batch = ['batch', 'run', 'in', '--to', 'html', '--out', 'out', '--name', 'again', '--again', '--json'];
    const { counts } = JSON.parse((await command(told, ...batch)) || '{}');
    told.converted += counts?.succeeded ?? 0;
    if (counts?.succeeded !== filesOfABatch) told.problems.push(`round ${told.rounds}: ${JSON.stringify(counts)}`);
    await Promise.all([without, rest]);
  }
  over.abort();
  await Promise.all(beside);
  const quarters = quartersOf(samples);
  return { ...told, quarters, problems: [...told.problems, ...growth(quarters)] };
}

/** What the command prints; one that fails is a problem. */
async function command(told, ...words) {
  const { code, stdout, stderr } = await ending(stack.spawnCommand(words));
  if (code !== 0) told.problems.push(`fileconv ${words.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

async function parkAWhile(told) {
  await command(told, 'service', 'credits', 'set', 'embedded', '0');
  await sleep(withoutCreditsMs);
  await command(told, 'service', 'credits', 'set', 'embedded', String(plentyOfCredits));
  await command(told, 'app', 'ready');
}

async function convertSingly(told, signal) {
  const client = await stack.client();
  const jobs = new Set();
  for (let n = 0; !signal.aborted; n += 1) {
    const source = path.join(stack.folder, `single-${n}.md`);
    writeFileSync(source, page(n));
    const destination = pathToFileURL(path.join(stack.folder, `single/${n}.html`)).href;
    const job = client
      .convert({ source: { uri: pathToFileURL(source).href }, destination, output: 'html' })
      .then(() => (told.single += 1))
      .catch((error) => told.problems.push(`single ${n}: ${error}`))
      .finally(() => jobs.delete(job));
    jobs.add(job);
    await sleep(singleMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all(jobs);
}

async function takeSamples(samples, signal) {
  for (;;) {
    const sample = {};
    // A `fileconv service credits` counts as a service to the others, and may end at any moment.
    const processes = (await stack.processes()).filter(({ role }) => role === 'up' || role === 'temporal');
    for (const { pid, role } of processes) {
      sample[role] = { mib: await memoryOf([pid]), descriptors: readdirSync(`/proc/${pid}/fd`).length };
      // What converts, in processes of its own that come and go.
      if (role === 'up') sample.engines = { mib: await memoryOf(await descendantsOf(pid, processes)) };
    }
    samples.push(sample);
    console.log(JSON.stringify({ minute: samples.length, ...sample }));
    await sleep(sampleMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
  }
}

async function memoryOf(pids) {
  if (pids.length === 0) return 0;
  const kib = await listProcesses('rss=', '-p', pids.join(','));
  return Math.round(kib.reduce((sum, [each]) => sum + each, 0) / 1024);
}

async function descendantsOf(pid, others) {
  const all = (await listProcesses('pid=,ppid=', '-A')).filter(([child]) =>
    others.every((other) => other.pid !== child),
  );
  const below = (parent) => all.filter(([, its]) => its === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

/** Columns of numbers. */
async function listProcesses(columns, ...which) {
  // Its exit code is 1 when one of them has just ended.
  const { stdout } = await run('ps', ['-o', columns, ...which]).catch((error) => error);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
}

/** Medians of each quarter of the time. */
function quartersOf(samples) {
  const size = Math.ceil(samples.length / 4);
  return [0, 1, 2, 3].map((quarter) => {
    const part = samples.slice(quarter * size, (quarter + 1) * size);
    const median = (role, key) =>
      part.map((sample) => sample[role]?.[key] ?? 0).toSorted((a, b) => a - b)[part.length >> 1];
    const roleOf = (role) => ({ mib: median(role, 'mib'), descriptors: median(role, 'descriptors') });
    return Object.fromEntries(roles.map((role) => [role, roleOf(role)]));
  });
}

function growth([, second, , last]) {
  return roles.flatMap((role) => [
    ...(last[role].mib > 1.05 * second[role].mib ? [`${role}: ${second[role].mib} MiB, then ${last[role].mib}`] : []),
    ...(last[role].descriptors > 1.2 * second[role].descriptors ? [`${role}: descriptors grew`] : []),
  ]);
}

function page(n) {
  return `# Page ${n}\n\n${'Some words of a page that says nothing. '.repeat(20)}\n\n| A | B |\n| - | - |\n| ${n} | ${Date.now()} |\n`;
}
