// npm run chaos [-- --batch] [--items 1000] [--kills 30] [--acts 0] [--policy resubmit|fail] [--up | --rivals]: one `fileconv batch run` of real conversions,
// first left alone, then with kill -9 of worker, service, receiver and Temporal server, or with --up of a `fileconv up` and its Temporal, in
// random order, and as many acts of an operator between them: jobs are terminated or cancelled, their steps are failed, completed or reset, the batch and a job are reset, the batch is cancelled and run again, workers are stopped for longer
// than a heartbeat time-out and wake. With --rivals another batch and two commands for single files want the same results meanwhile. What is left in the end is retried. Prints a JSON line at the end. Exit code 1 when an item is in no state
// or in two, counts don't add up, an output differs from that of the first run, a file is left over, or the service, the histories, the rows
// and the reports do not tell the same of what was charged (test/support/invariant.ts).
import { createHash, randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { acts, shuffled } from './chaos-acts.mjs';
import { conversionsAt, countBy, loadInvariant, readLines, secondsSince } from './batch-ledger.mjs';
import { ChaosStack, impatientPolicies } from './chaos-stack.mjs';
import { ending, playOn } from './play.mjs';

const ofParts = [
  ['worker'],
  ['service'],
  ['receiver'],
  ['temporal'],
  ['worker', 'service'],
  ['worker', 'service', 'receiver', 'temporal'],
];
const ofUp = [['up'], ['temporal'], ['up', 'temporal']];
/** Every engine here makes the same bytes of the same source. */
const kinds = [
  { from: 'md', to: 'html', make: markdown },
  { from: 'csv', to: 'html', make: table },
  { from: 'svg', to: 'png', make: drawing },
];
const states = ['succeeded', 'failed', 'skipped', 'cancelled'];
const couldNotRun = 3;
const rounds = 10;

/** Plays the batch and ends the process. */
export async function playBatch() {
  const options = readArguments();
  const stack = new ChaosStack({ config: configuration(options), isSplit: !options.up });
  await playOn(stack, options, () => play(stack, options));
}

async function play(stack, options) {
  const files = writeSources(stack.folder, options.items);
  const calm = await runBatch(stack, 'calm');
  const references = new Map(files.map(({ id, to }) => [id, hashOf(stack, 'calm', `${id}.${to}`)]));
  const missing = [...references].flatMap(([id, hash]) => (hash ? [] : [`calm run: no output of ${id}`]));
  if (missing.length > 0) return { problems: missing };
  console.log(`without faults: ${options.items} items, ${calm.seconds} s`);
  const before = new Set(conversionsAt(path.join(stack.folder, '.fileconv/service')).map(({ taskId }) => taskId));
  const hits = [];
  const over = { yet: false, act: Promise.resolve() };
  const running = runToTheEnd(stack, 'killed', options, over).finally(() => (over.yet = true));
  const others = options.rivals ? want(stack, files, over) : [];
  await Promise.all([running, killNowAndThen(stack, options, hits, over), ...others]);
  const batch = await running;
  console.log(`met ${hits.join(' ')}; ${batch.seconds} s`);
  const sourceOf = new Map(files.map(({ id, from, to }) => [`${id}.${to}`, `${id}.${from}`]));
  const conversions = conversionsAt(path.join(stack.folder, '.fileconv/service'))
    .filter(({ taskId }) => !before.has(taskId))
    .map(({ taskId, output }) => ({ taskId, file: sourceOf.get(output) ?? output }));
  const runs = runFolders(stack);
  const items = judgeItems(stack, { runs, files, references, policy: options.policy });
  const { chargeProblems, unreportedConversions } = await loadInvariant(path.basename(stack.folder));
  const client = await stack.temporal();
  const problems = [
    ...judgeCounts(batch, runs, items.latest, options),
    ...items.problems,
    ...judgeFolders(stack, files),
    // What a rival has paid for is in none of the batch's rows, but in the histories of the jobs.
    ...(options.rivals ? [] : await chargeProblems(conversions, runs, client)),
    ...(await unreportedConversions(conversions, { client, taskQueues: ['file-conversion'] })),
  ];
  const kills = hits.filter((hit) => !(hit in acts)).length;
  if (kills < options.kills) problems.push(`The batch was over after ${kills} kills.`);
  const latest = [...items.latest.values()];
  return {
    problems,
    kills,
    hits: countBy(hits),
    runs: runs.length,
    counts: countBy(latest.map(({ status }) => status)),
    failures: countBy(latest.flatMap(({ code }) => code ?? [])),
    conversions: conversions.length,
    extraConversions: conversions.length - new Set(conversions.map(({ file }) => file)).size,
    possiblyChargedTwice: latest.filter(({ possiblyChargedTwice }) => possiblyChargedTwice).length,
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

/** Runs the batch, and retries what was cancelled, terminated or failed, until nothing is left. Resolves with the last report. */
async function runToTheEnd(stack, name, { policy }, over) {
  const first = await runBatch(stack, name);
  const commands = [...first.commands];
  let [last, seconds] = [first, first.seconds];
  for (let round = 0; round < rounds && last.code === 1 && policy === 'resubmit'; round += 1) {
    // Whoever cancels retries when the command has ended. Else the retry may be over before the next act.
    await over.act;
    last = await untilItRuns(stack, ['batch', 'retry', name, '--json']);
    commands.push(...last.commands);
    seconds += last.seconds;
  }
  return { ...last, commands, seconds };
}

/** Others who ask for the same results until the batch is over. */
function want(stack, files, over) {
  const manifest = path.join(stack.folder, 'killed.csv');
  const again = async (ask) => {
    while (!over.yet) await ask();
  };
  const batch = () => untilItRuns(stack, ['batch', 'run', manifest, '--name', 'rival', '--json']);
  const one = () => {
    const { id, from, to } = files[randomInt(files.length)];
    const place = ['--to', to, '--out', 'killed', '--on-existing', 'overwrite'];
    return runCommand(stack, ['convert', `in/${id}.${from}`, ...place]);
  };
  return [again(batch), again(one), again(one)];
}

function runBatch(stack, name) {
  const manifest = path.join(stack.folder, `${name}.csv`);
  const sources = readdirSync(path.join(stack.folder, 'in')).sort();
  const rows = sources.map((source) => {
    const { name: id, ext } = path.parse(source);
    const { to } = kinds.find(({ from }) => `.${from}` === ext);
    return `in/${source},${to},${name}/${id}.${to}`;
  });
  writeFileSync(manifest, `source,output,destination\n${rows.join('\n')}\n`);
  return untilItRuns(stack, ['batch', 'run', manifest, '--name', name, '--json']);
}

/** Types the same command again when it could not continue, as a person would. Resolves with the report that it printed. */
async function untilItRuns(stack, args) {
  const startedAt = Date.now();
  const commands = [];
  for (;;) {
    const { code, stdout, stderr } = await runCommand(stack, args);
    commands.push(code);
    if (code !== couldNotRun) {
      const report = JSON.parse(stdout || 'null');
      if (!report) throw new Error(`\`${args.join(' ')}\` ended with ${code} and no report: ${stderr}`);
      return { report, code, commands, seconds: secondsSince(startedAt) };
    }
    if (commands.length > 20)
      throw new Error(`\`${args.join(' ')}\` could not run ${commands.length} times: ${stderr}`);
    await sleep(1_000);
  }
}

function runCommand(stack, args) {
  return ending(stack.spawnCommand(args));
}

/** Evenly over the first two thirds of the batch, since it is quick between them: each after so many outputs more, and a random moment. */
async function killNowAndThen(stack, { items, kills, acts: actCount, up }, hits, over) {
  const planned = shuffled([...taken(up ? ofUp : ofParts, kills), ...taken(Object.keys(acts), actCount)]);
  for (const [position, target] of planned.entries()) {
    const due = Math.floor((0.66 * items * (position + 0.5)) / planned.length);
    while (outputsOf(stack, 'killed') < due && !over.yet) await sleep(100);
    await sleep(randomInt(0, 800));
    if (over.yet) return;
    if (typeof target === 'string') {
      hits.push(target);
      // Temporal itself may be down at the moment; then it is another act of the operator's that meets nothing.
      over.act = acts[target](stack).catch((error) => console.log(`${target}: ${error.message}`));
      await over.act;
      continue;
    }
    // What is being started again this very moment is met a moment later.
    while ((await stack.kill(target)) === 0 && !over.yet) await sleep(100);
    if (!over.yet) hits.push(target === ofParts.at(-1) ? 'all' : target.join('+'));
    if (stack.failure) throw stack.failure;
  }
}

/** So many, each about as often as any other. */
function taken(choices, count) {
  return Array.from({ length: Math.ceil(count / choices.length) }, () => shuffled(choices))
    .flat()
    .slice(0, count);
}

function judgeItems(stack, { runs, files, references, policy }) {
  const problems = [];
  const latest = new Map();
  for (const run of runs) {
    const sourceOf = new Map(readLines(run, 'manifest.jsonl').map(({ item, source }) => [item, source]));
    const seen = new Set();
    for (const line of resultLines(run)) {
      const id = path.parse(fileURLToPath(sourceOf.get(line.item))).name;
      if (seen.has(id)) problems.push(`${id}: two results in one run`);
      seen.add(id);
      // What a run has delivered is skipped by those that follow, and by itself when it is reset.
      const isRecalled = line.status === 'skipped' && line.charge === 'yes';
      if (isRecalled) latest.set(id, { ...line, status: 'succeeded' });
      else if (line.status !== 'skipped' || latest.get(id)?.status !== 'succeeded') latest.set(id, line);
    }
  }
  for (const { id, to } of files) {
    const line = latest.get(id);
    const hash = hashOf(stack, 'killed', `${id}.${to}`);
    if (!line || !states.includes(line.status)) problems.push(`${id}: in no state, ${JSON.stringify(line)}`);
    if (hash !== undefined && hash !== references.get(id))
      problems.push(`${id}: not the bytes of a run without faults`);
    if (line?.status === 'succeeded' && hash === undefined) problems.push(`${id}: succeeded without an output`);
    if (line?.status === 'succeeded' && line.output.sha256 !== hash) problems.push(`${id}: the hash told is another`);
    if (line && line.status !== 'succeeded' && policy === 'resubmit')
      problems.push(`${id}: ${line.status}, ${line.code}: ${line.message}`);
    if (line?.status === 'failed' && policy === 'fail' && line.code !== 'OUTCOME_UNKNOWN')
      problems.push(`${id}: ${line.code}: ${line.message}`);
    if (policy === 'fail' && line?.possiblyChargedTwice) problems.push(`${id}: sent again under policy fail`);
  }
  return { latest, problems };
}

function judgeCounts({ report, code }, runs, latest, { items }) {
  const problems = [];
  if (latest.size !== items) problems.push(`${latest.size} results of ${items} items`);
  const counted = countBy(readLines(runs.at(-1), 'results.jsonl').map(({ status }) => status));
  // The batch may end while the command can't see it: typed again it has nothing to do, and its report is of no run.
  for (const state of report.files ? states : []) {
    if ((counted[state] ?? 0) !== report.counts[state])
      problems.push(`${report.counts[state]} ${state} by the report, ${counted[state] ?? 0} by the results`);
  }
  const expected = [...latest.values()].every(({ status }) => status === 'succeeded') ? 0 : 1;
  if (code !== expected) problems.push(`exit code ${code}, not ${expected}`);
  return [...problems, ...(report.warnings ?? [])];
}

/** Nothing but the outputs; and nothing temporary among the batch's own files. */
function judgeFolders(stack, files) {
  const expected = new Set(files.map(({ id, to }) => `${id}.${to}`));
  const left = readdirSync(path.join(stack.folder, 'killed')).filter((name) => !expected.has(name));
  const own = readdirSync(path.join(stack.folder, '.fileconv/batches'), { recursive: true });
  left.push(...own.filter((name) => /\.(part|tmp)$/.test(name)));
  return left.map((name) => `left over: ${name}`);
}

/** Of a run that another one took over, when the batch was reset to before its plan, its parts tell. */
function resultLines(run) {
  if (existsSync(path.join(run, 'results.jsonl'))) return readLines(run, 'results.jsonl');
  const parts = path.join(run, 'parts');
  return existsSync(parts) ? readdirSync(parts).flatMap((part) => readLines(parts, part)) : [];
}

/** Of the batch that was killed, the first one first. */
function runFolders(stack) {
  const folder = path.join(stack.folder, '.fileconv/batches/killed');
  const runs = readdirSync(folder).filter((name) => name.startsWith('run-'));
  return runs.sort().map((name) => path.join(folder, name));
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

function configuration({ policy }) {
  return `[service]\ncallback_first_retry_seconds = 1\n\n${impatientPolicies(policy)}`;
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

function readArguments() {
  const { values } = parseArgs({
    options: {
      batch: { type: 'boolean' },
      items: { type: 'string', default: '1000' },
      kills: { type: 'string', default: '30' },
      acts: { type: 'string', default: '0' },
      policy: { type: 'string', default: 'resubmit' },
      up: { type: 'boolean', default: false },
      rivals: { type: 'boolean', default: false },
    },
  });
  const [items, kills, actCount] = [Number(values.items), Number(values.kills), Number(values.acts)];
  const isUsable = [items, kills, actCount].every((value) => Number.isInteger(value) && value >= 0) && items > 0;
  // While `up` is killed, a rival would run the stack for itself.
  if (isUsable && !(values.up && values.rivals) && ['resubmit', 'fail'].includes(values.policy))
    return { items, kills, acts: actCount, policy: values.policy, up: values.up, rivals: values.rivals };
  console.error(
    'Usage: npm run chaos -- [--batch] [--items 1000] [--kills 30] [--acts 0] [--policy resubmit|fail] [--up | --rivals]',
  );
  process.exit(2);
}
