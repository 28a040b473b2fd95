// npm run chaos -- --batch [--items 1000] [--kills 30] [--policy resubmit|fail]: one `fileconv batch run` of real conversions on the stack of a
// `fileconv up`, first left alone, then with kill -9 of worker, service, receiver and Temporal server in random order. Prints a JSON line at
// the end. Exit code 1 when an item is in no state or in two, counts don't add up, an output differs from that of the first run, a file is left
// over, or the service ran a conversion again that the batch does not own up to.
import { createHash, randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ChaosStack, roles } from './chaos-stack.mjs';

const require = createRequire(import.meta.url);
const Database = require('libsql');

const targets = [
  ['worker'],
  ['service'],
  ['receiver'],
  ['temporal'],
  ['worker', 'service'],
  ['worker', 'service', 'receiver', 'temporal'],
];
/** Every engine here makes the same bytes of the same source. */
const kinds = [
  { from: 'md', to: 'html', make: markdown },
  { from: 'csv', to: 'html', make: table },
  { from: 'svg', to: 'png', make: drawing },
];
const states = ['succeeded', 'failed', 'skipped', 'cancelled'];
const couldNotRun = 3;

/** Plays the batch and ends the process. */
export async function playBatch() {
  const options = readArguments();
  const startedAt = Date.now();
  const stack = new ChaosStack({ config: configuration(options, await freePort()) });
  const giveUp = async () => {
    await stack.remove();
    process.exit(130);
  };
  process.once('SIGINT', giveUp);
  process.once('SIGTERM', giveUp);
  const summary = { ...options, problems: [] };
  try {
    await stack.start();
    stack.startReceiver();
    Object.assign(summary, await play(stack, options));
    const left = await stack.stop();
    if (left.length > 0) summary.problems.push(`after Ctrl-C these are left: ${left.join(', ')}`);
  } catch (error) {
    summary.problems.push(String(error.stack ?? error));
  }
  for (const problem of summary.problems.slice(0, 50)) console.log(`  ${problem}`);
  const failed = summary.problems.length > 0;
  if (failed) {
    console.log(`State, logs and outputs are kept in ${stack.folder}`);
    await stack.kill([...roles, 'receiver']);
  } else await stack.remove();
  console.log(JSON.stringify({ ...summary, seconds: seconds(startedAt) }));
  process.exit(failed ? 1 : 0);
}

async function play(stack, options) {
  const files = writeSources(stack.folder, options.items);
  const calm = await runBatch(stack, 'calm');
  const references = new Map(files.map(({ id, to }) => [id, hashOf(stack, 'calm', `${id}.${to}`)]));
  const missing = [...references].flatMap(([id, hash]) => (hash ? [] : [`calm run: no output of ${id}`]));
  if (missing.length > 0) return { problems: missing };
  console.log(`without faults: ${options.items} items, ${calm.seconds} s`);
  const before = conversionsById(stack);
  const hits = [];
  const over = { yet: false };
  const running = runBatch(stack, 'killed').finally(() => (over.yet = true));
  await Promise.all([running, killNowAndThen(stack, options, hits, over)]);
  const batch = await running;
  console.log(`killed ${hits.join(' ')}; ${batch.seconds} s`);
  const after = conversionsById(stack);
  const conversions = new Map(files.map(({ id }) => [id, (after.get(id) ?? 0) - (before.get(id) ?? 0)]));
  const items = judgeItems(stack, { files, references, conversions, policy: options.policy });
  const problems = [...judgeCounts(batch, items, options), ...items.problems, ...judgeFolders(stack, files)];
  if (hits.length < options.kills) problems.push(`The batch was over after ${hits.length} kills.`);
  const extra = [...conversions.values()].reduce((sum, count) => sum + Math.max(0, count - 1), 0);
  return {
    problems,
    kills: hits.length,
    hits: countBy(hits),
    counts: countBy(items.lines.map(({ status }) => status)),
    failures: countBy(items.lines.flatMap(({ code }) => code ?? [])),
    extraConversions: extra,
    possiblyChargedTwice: items.lines.filter(({ possiblyChargedTwice }) => possiblyChargedTwice).length,
    commands: batch.commands,
    calmSeconds: calm.seconds,
    killedSeconds: batch.seconds,
  };
}

function writeSources(folder, items) {
  mkdirSync(path.join(folder, 'in'));
  return Array.from({ length: items }, (_, index) => {
    const { from, to, make } = kinds[index % kinds.length];
    const id = `item-${String(index + 1).padStart(4, '0')}`;
    writeFileSync(path.join(folder, 'in', `${id}.${from}`), make(id, index));
    return { id, from, to };
  });
}

/** Types the same command again when it could not go on, as a person would. Resolves with the report that it printed. */
async function runBatch(stack, name) {
  const startedAt = Date.now();
  const manifest = path.join(stack.folder, `${name}.csv`);
  const sources = readdirSync(path.join(stack.folder, 'in')).sort();
  const rows = sources.map((source) => {
    const { name: id, ext } = path.parse(source);
    const { to } = kinds.find(({ from }) => `.${from}` === ext);
    return `in/${source},${to},${name}/${id}.${to}`;
  });
  writeFileSync(manifest, `source,output,destination\n${rows.join('\n')}\n`);
  const commands = [];
  for (;;) {
    const { code, stdout, stderr } = await runCommand(stack, ['batch', 'run', manifest, '--name', name, '--json']);
    commands.push(code);
    if (code !== couldNotRun) {
      const report = JSON.parse(stdout || 'null');
      if (!report) throw new Error(`\`batch run\` ended with ${code} and no report: ${stderr}`);
      return { report, code, commands, seconds: seconds(startedAt) };
    }
    if (commands.length > 20) throw new Error(`\`batch run\` could not run ${commands.length} times: ${stderr}`);
    await sleep(1_000);
  }
}

async function runCommand(stack, args) {
  const child = stack.spawnCommand(args);
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (printed.stdout += chunk));
  child.stderr.on('data', (chunk) => (printed.stderr += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, ...printed };
}

/** Evenly over the batch, so that no part of it is spared: each after so many outputs more, and a random moment. */
async function killNowAndThen(stack, { items, kills }, hits, over) {
  let order = [];
  while (hits.length < kills && !over.yet) {
    const due = Math.floor((items * (hits.length + 0.5)) / (kills + 1));
    while (outputsOf(stack, 'killed') < due && !over.yet) await sleep(100);
    await sleep(randomInt(0, 800));
    if (over.yet) return;
    if (order.length === 0) order = shuffled(targets);
    const target = order.pop();
    // What is being started again this very moment is met a moment later.
    while ((await stack.kill(target)) === 0 && !over.yet) await sleep(100);
    if (!over.yet) hits.push(target.length === 4 ? 'all' : target.join('+'));
    if (stack.failure) throw stack.failure;
  }
}

function judgeItems(stack, { files, references, conversions, policy }) {
  const problems = [];
  const lines = readLines(runFolder(stack), 'results.jsonl');
  const sourceOf = new Map(readLines(runFolder(stack), 'manifest.jsonl').map(({ item, source }) => [item, source]));
  const byId = new Map();
  for (const line of lines) {
    const id = path.parse(fileURLToPath(sourceOf.get(line.item))).name;
    if (byId.has(id)) problems.push(`${id}: two results`);
    byId.set(id, line);
  }
  for (const { id, to } of files) {
    const line = byId.get(id);
    const hash = hashOf(stack, 'killed', `${id}.${to}`);
    const count = conversions.get(id);
    if (!line || !states.includes(line.status)) problems.push(`${id}: in no state, ${JSON.stringify(line)}`);
    if (hash !== undefined && hash !== references.get(id))
      problems.push(`${id}: not the bytes of a run without faults`);
    if (line?.status === 'succeeded' && hash === undefined) problems.push(`${id}: succeeded without an output`);
    if (line?.status === 'succeeded' && line.output.sha256 !== hash) problems.push(`${id}: the hash told is another`);
    if (line?.status === 'succeeded' && count < 1) problems.push(`${id}: the service knows no conversion`);
    if (line && line.status !== 'succeeded' && policy === 'resubmit')
      problems.push(`${id}: ${line.status}, ${line.code}: ${line.message}`);
    if (line?.status === 'failed' && policy === 'fail' && line.code !== 'OUTCOME_UNKNOWN')
      problems.push(`${id}: ${line.code}: ${line.message}`);
    if (count > 1 && !line?.possiblyChargedTwice)
      problems.push(`${id}: converted ${count} times, and the batch says once`);
    if (policy === 'fail' && line?.possiblyChargedTwice) problems.push(`${id}: sent again under policy fail`);
  }
  return { lines, problems };
}

function judgeCounts({ report, code }, { lines }, { items }) {
  const problems = [];
  if (lines.length !== items) problems.push(`${lines.length} results of ${items} items`);
  const counted = countBy(lines.map(({ status }) => status));
  for (const state of states) {
    if ((counted[state] ?? 0) !== report.counts[state])
      problems.push(`${report.counts[state]} ${state} by the report, ${counted[state] ?? 0} by the results`);
  }
  const expected = counted.succeeded === items ? 0 : 1;
  if (code !== expected) problems.push(`exit code ${code}, not ${expected}`);
  if (report.warnings?.length > 0) problems.push(...report.warnings);
  return problems;
}

/** Nothing but the outputs; and nothing temporary among the batch's own files. */
function judgeFolders(stack, files) {
  const expected = new Set(files.map(({ id, to }) => `${id}.${to}`));
  const left = readdirSync(path.join(stack.folder, 'killed')).filter((name) => !expected.has(name));
  const own = readdirSync(path.join(stack.folder, '.fileconv/batches'), { recursive: true });
  left.push(...own.filter((name) => /\.(part|tmp)$/.test(name)));
  return left.map((name) => `left over: ${name}`);
}

/** The run that did the work; a command typed again goes on with it, and makes a new one only for what is left. */
function runFolder(stack) {
  return path.join(stack.folder, '.fileconv/batches/killed/run-0001');
}

function readLines(folder, name) {
  return readFileSync(path.join(folder, name), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function hashOf(stack, folder, name) {
  try {
    return createHash('sha256')
      .update(readFileSync(path.join(stack.folder, folder, name)))
      .digest('hex');
  } catch {
    return undefined;
  }
}

function outputsOf(stack, folder) {
  try {
    return readdirSync(path.join(stack.folder, folder)).filter((name) => !name.startsWith('.')).length;
  } catch {
    return 0;
  }
}

/** Conversions of each source that the service has charged or will: failed tasks are not. */
function conversionsById(stack) {
  const db = new Database(path.join(stack.folder, '.fileconv/service/service.db'), { readonly: true, timeout: 5_000 });
  try {
    const query = `SELECT file_name AS name, count(*) AS n FROM tasks
      WHERE endpoint LIKE '%convert/file' AND error_code IS NULL GROUP BY file_name`;
    const rows = db.prepare(query).all();
    return new Map(rows.map(({ name, n }) => [path.parse(name ?? '').name, n]));
  } finally {
    db.close();
  }
}

function configuration({ policy }, port) {
  return `[callbacks]
embedded = "off"
port = ${port}
embedded_base_url = "http://127.0.0.1:${port}"

[service]
callback_first_retry_seconds = 1

[policies]
on_unknown_outcome = "${policy}"
unknown_outcome_wait = "5s"
poll_after = "5s"
first_check_after = "200ms"
max_check_interval = "2s"
retry_initial_interval = "200ms"
retry_maximum_interval = "2s"
`;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function markdown(id, index) {
  const paragraph = 'Some *emphasis*, `code`, [a link](http://example.com) and plain words after that.\n\n';
  return `# Report ${id}\n\n${paragraph.repeat(1 + (index % 40))}end of ${id}\n`;
}

function table(id, index) {
  const rows = Array.from({ length: 1 + (index % 60) }, (_, row) => `${row},row ${row}`);
  return `number,text\n${rows.join('\n')}\n0,${id}\n`;
}

function drawing(id, index) {
  const color = ((index * 7_919) % 0xff_ff_ff).toString(16).padStart(6, '0');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200"><title>${id}</title><circle cx="99" cy="99" r="${20 + (index % 70)}" fill="#${color}"/></svg>`;
}

function shuffled(list) {
  const rest = [...list];
  return list.map(() => rest.splice(randomInt(rest.length), 1)[0]);
}

function countBy(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function seconds(since) {
  return Math.round((Date.now() - since) / 100) / 10;
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      batch: { type: 'boolean' },
      items: { type: 'string', default: '1000' },
      kills: { type: 'string', default: '30' },
      policy: { type: 'string', default: 'resubmit' },
    },
  });
  const [items, kills] = [Number(values.items), Number(values.kills)];
  const isUsable = [items, kills].every((value) => Number.isInteger(value) && value > 0);
  if (isUsable && ['resubmit', 'fail'].includes(values.policy)) return { items, kills, policy: values.policy };
  console.error('Usage: npm run chaos -- --batch [--items 1000] [--kills 30] [--policy resubmit|fail]');
  process.exit(2);
}
