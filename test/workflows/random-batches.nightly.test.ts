import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { BatchItemResult, ConversionBatchResult } from '../../src/batch/model/state';
import type { BatchPlan, ConversionBatchInput } from '../../src/batch/model/types';
import { readRequest } from '../../src/batch/request';
import { readRows } from '../../src/batch/run-folders';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import { JobRunningError } from '../../src/client/file-conversion-client';
import { defined } from '../../src/job/defined';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies } from '../support/conversion-worker';
import { hands, letters, Life, playBatches, resultOf, type Place, type Wish } from '../support/random-batches';
import { resetWorkflow } from '../support/reset';
import { sweepsOfEachTest } from '../support/sweeping';
import { until } from '../support/until';

/*
 * Batches of several rows, in which everything is left to chance: files, options, policies, who else converts the same, how each conversion
 * ends, what interrupts the batch, what becomes of results and tasks. An accountant who knows only what the service saw checks each
 * submit, each row and each file.
 */

const histories = 16;
const steps = 4;
/** Histories at a time. */
const together = 8;

const script = 'case $(cat "$1") in *bad*) exit 3 ;; esac';
const { rig, schedule, sweep } = sweepsOfEachTest({ checkCommand: { argv: ['/bin/sh', '-c', script, 'check'] } });
const files = createLocalFiles();

type End = Partial<Omit<BatchItemResult, 'item'>>;

const folderUri = (...segments: string[]) => pathToFileURL(`${path.join(...segments)}/`).href;

/** The end of a batch: its rows, with the conversion that each asked for. */
interface Ended {
  place: Place;
  asked: string | undefined;
  row: End;
  isDone: boolean;
}

async function rowsOf(life: Life, result: ConversionBatchResult): Promise<Ended[]> {
  const { folder } = result;
  life.tell(JSON.stringify({ ...result, planned: undefined, results: undefined, report: undefined }));
  if (folder === undefined) return [];
  const ended: Ended[] = [];
  const rows: BatchItemResult[] = [];
  for await (const { item, result: row } of readRows(files, { folder })) {
    if (!row) {
      life.wrong(`no result of row ${item.item}`);
      continue;
    }
    rows.push(row);
    const source = path.basename(item.source, '.md');
    const content = life.edited.has(source) ? undefined : life.sources.get(source);
    const isLeft = item.done !== undefined && life.action === 'retry' && life.kind !== 'hot';
    const asked = isLeft
      ? undefined
      : content && `${content}${(item.parameters as { dpi?: number } | undefined)?.dpi ?? ''}`;
    const place = life.place(decodeURIComponent(path.basename(item.destination)));
    const { status, code, charge, taskId, possiblyChargedExtra: extra, kept, missing, workflowId } = row;
    const shown = { status, code, charge, taskId: taskId?.slice(0, 4), extra, kept, missing, job: workflowId && true };
    life.tell(`row ${place.name} of ${asked}: ${JSON.stringify(shown)}${item.done ? ' done' : ''}`);
    ended.push({ place, asked, row, isDone: item.done !== undefined });
  }
  checkCounts(life, result, rows);
  return ended;
}

function checkCounts(life: Life, result: ConversionBatchResult, rows: readonly BatchItemResult[]): void {
  const count = (is: (row: BatchItemResult) => unknown) => rows.filter(is).length;
  const counted = {
    items: rows.length,
    succeeded: count(({ status }) => status === 'succeeded'),
    failed: count(({ status }) => status === 'failed' || status === 'suspect'),
    skipped: count(({ status }) => status === 'skipped'),
    cancelled: count(({ status }) => status === 'cancelled'),
    ...{ inFlight: 0, waiting: 0 },
    suspect: count(({ status }) => status === 'suspect'),
    kept: count(({ kept, status }) => kept && status === 'failed'),
    missing: count(({ missing }) => missing),
    // A cancelled batch does not count the rows that it did not come to.
    possiblyChargedTwice: count((row) => row.possiblyChargedTwice && (row.status !== 'cancelled' || row.workflowId)),
  };
  for (const [key, value] of Object.entries(counted)) {
    const told = result[key as keyof typeof counted] ?? 0;
    if (told !== value) life.wrong(`${key}: ${told} told, ${value} rows`);
  }
}

async function account({ place, asked, row, isDone }: Ended): Promise<void> {
  const { status, charge, taskId, possiblyChargedExtra: extra = 0, kept, output, missing, workflowId } = row;
  const isDelivered = status === 'succeeded' || (status === 'suspect' && !kept);
  const isSeen = status === 'skipped' && taskId !== undefined && (isDone || workflowId !== undefined);
  const isRecognised = isSeen || (status === 'suspect' && kept === true);
  if (!isDelivered && !isRecognised) return;
  if (charge === 'no') place.wrong('delivered, and not charged');
  const task = place.delivered(taskId, extra, isRecognised);
  if (!task) return;
  if (asked !== undefined && task.conversion !== asked) place.wrong(`it is ${task.conversion}, not ${asked}`);
  if (status === 'suspect' || missing || !output || (place.isContested && !isRecognised)) return;
  const { life } = place;
  if ((life.action !== 'run' || asked === undefined || life.kind === 'hot') && place.isTouched) return;
  const file = await readFile(fileURLToPath(output.uri), 'utf8').catch(() => undefined);
  if (file !== resultOf(task)) place.wrong(`the file of ${task.conversion} is ${file}`);
}

async function quiet(life: Life): Promise<void> {
  for (const { jobId } of life.places.values()) {
    await until(`${jobId} has ended`, async () => {
      const { status } = await rig.temporal.workflow.getHandle(jobId).describe();
      return status.name !== 'RUNNING';
    }).catch((error: unknown) => {
      if (!String(error).includes('not found')) throw error;
    });
  }
}

/** What people and the service do between two steps. */
async function meddle(life: Life): Promise<void> {
  const { mayBe, pick } = life.chance;
  const { kind } = life;
  for (const [source, content] of life.sources) {
    if (life.isLast) await life.put(source, 'Z');
    else if (mayBe(0.2)) await life.put(source, pick(letters));
    else if (kind !== 'hot' && mayBe(0.1)) {
      await life.take(source);
      if (mayBe(0.5)) await life.put(`s${life.sources.size + 10}`, content);
    }
  }
  if (mayBe(0.2) || life.sources.size === 0)
    await life.put(`s${life.sources.size + 1}`, life.isLast ? 'Z' : pick(letters));
  for (const place of life.places.values()) {
    const { file } = place;
    if (life.isLast && kind === 'hot') await rm(file, { force: true });
    if (!existsSync(file)) continue;
    const fate = life.chance.random();
    if (fate < 0.2) place.isTouched = true;
    if (fate < 0.1) await rm(file);
    else if (fate < 0.2) await writeFile(file, hands);
    if (fate < 0.2) life.tell(`${fate < 0.1 ? 'removed' : 'edited'} ${place.name}`);
  }
  if (mayBe(0.1)) for (const { tasks: own } of life.places.values()) for (const task of own) task.isGone ||= mayBe(0.5);
}

async function planOf(life: Life, runs: string): Promise<BatchPlan> {
  const { folder, outputs, dpi } = life;
  const plan = { folder: folderUri(folder, runs), cwd: folderUri(folder), out: folderUri(folder, 'out') };
  if (life.kind !== 'manifest') {
    return { ...plan, what: { sources: ['in'], to: outputs, ...(dpi !== undefined && { parameters: { dpi } }) } };
  }
  const rows = [...life.sources.keys()].flatMap((source) =>
    outputs.map((output, index) => ({
      source: `in/${source}.md`,
      output,
      destination: `${source}.${output}`,
      ...(dpi !== undefined && index === 0 && { parameters: `dpi=${dpi}` }),
    })),
  );
  const name = 'rows.jsonl';
  await writeFile(path.join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return { ...plan, what: { manifest: new URL(name, plan.cwd).href, name, folder: plan.cwd } };
}

const policiesOf = ({ policy }: Wish) => ({ ...quickPolicies, onUnknownOutcome: policy, check: 'command' as const });

function inputOf(life: Life, plan: BatchPlan): ConversionBatchInput {
  const { onExisting, resubmit, again, window } = life.wish;
  return {
    ...{ app: rig.app, plan, onExisting, window, policies: policiesOf(life.wish) },
    ...(resubmit && { resubmit }),
    ...(again && { again }),
  };
}

/** Waits for a batch to end. Undefined if it was terminated, or had nothing to convert. */
async function endOf(life: Life, batch: string): Promise<ConversionBatchResult | undefined> {
  try {
    return await rig.client.getBatch(batch).result();
  } catch (error) {
    life.tell(`${batch}: ${String(error)}`);
    return undefined;
  }
}

async function endOfJob(job: Promise<unknown>): Promise<End> {
  try {
    return (await job) as End;
  } catch (error) {
    if (error instanceof ConversionFailedError) {
      const status = error.code === 'RESULT_SUSPECT' ? 'suspect' : 'failed';
      return { ...(error.details as object), code: error.code, status };
    }
    if (error instanceof JobRunningError) return { status: 'failed', code: error.code };
    if (String(error).includes('not found')) return {};
    throw error;
  }
}

/** What the jobs of a terminated batch tell themselves. */
async function endsOfJobs(life: Life): Promise<Ended[]> {
  const ends = [...life.places.values()].filter(({ tasks: own }) => own.length > 0);
  return Promise.all(
    ends.map(async (place) => tellJob(place, await endOfJob(rig.client.get(place.jobId).result()), undefined)),
  );
}

async function single(life: Life, place: Place, dpi: number | undefined): Promise<Ended[]> {
  const [source = '', output = ''] = place.name.split('.');
  const content = life.edited.has(source) ? undefined : life.sources.get(source);
  const request = {
    ...{ source: path.join(life.folder, 'in', `${source}.md`), output, destination: place.file },
    ...{
      onExisting: life.wish.onExisting,
      policies: policiesOf(life.wish),
      ...(dpi !== undefined && { parameters: { dpi } }),
    },
  };
  const end = endOfJob(rig.client.convert(request, { resubmit: life.wish.resubmit }));
  return [tellJob(place, await end, content && `${content}${dpi ?? ''}`)];
}

function tellJob(place: Place, row: End, asked: string | undefined): Ended {
  const { status, code, charge, taskId, possiblyChargedExtra: extra, kept } = row;
  place.life.tell(
    `job of ${asked}: ${JSON.stringify({ status, code, charge, taskId: taskId?.slice(0, 4), extra, kept })}`,
  );
  return { place, asked, row, isDone: false };
}

/** One step. Returns what ended. */
async function act(life: Life, action: 'run' | 'retry' | 'reset'): Promise<Ended[]> {
  const { kind, batch, chance } = life;
  const others: (() => Promise<Ended[]>)[] = [];
  if (action === 'reset') {
    await resetWorkflow(rig.temporal, batch, chance.random()).catch((error: unknown) => life.tell(String(error)));
  } else if (kind === 'hot' && action === 'run') {
    await sweep(batch).catch((error: unknown) => life.tell(String(error)));
  } else if (kind === 'hot') {
    const request = (await readRequest(files, folderUri(life.folder, 'runs')))?.request;
    if (!request?.plan?.moves) return [];
    const moves = { ...request.plan.moves, restores: true as const };
    // Like the command: with the policies of the schedule, whose rules for unattended runs don't apply.
    const { app, policies } = request;
    const { resubmit, again } = inputOf(life, request.plan);
    const plan = { ...request.plan, moves };
    await rig.client.startPlanned(batch, defined({ app, policies, resubmit, again, plan }));
  } else {
    const plan = await planOf(life, 'runs');
    await rig.client.startPlanned(batch, inputOf(life, action === 'retry' ? { ...plan, what: 'last' } : plan));
  }
  if (kind === 'shared' && action === 'run') {
    if (chance.mayBe(0.6)) {
      const plan = await planOf(life, 'runs2');
      others.push(async () => {
        await rig.client.startPlanned(`${batch}-2`, inputOf(life, plan));
        const result = await endOf(life, `${batch}-2`);
        return result ? rowsOf(life, result) : [];
      });
    }
    const place = life.places.get(`${chance.pick([...life.sources.keys()])}.docx`);
    if (place && !life.wish.again && chance.mayBe(0.4)) {
      const isOther = life.wish.onExisting !== 'rename' && chance.mayBe(0.3);
      if (isOther) place.isContested = place.wasContested = true;
      if (isOther) place.asks('');
      others.push(() => single(life, place, isOther ? 99 : life.dpi));
    }
  }
  const own = async () => {
    const result = await endOf(life, batch);
    return result ? rowsOf(life, result) : [];
  };
  const ended = await Promise.all([own, ...others].map((each) => each()));
  return ended.flat();
}

/** Decides what is done in this step, and how. */
async function choose(life: Life): Promise<void> {
  const { kind, wish } = life;
  const { mayBe, pick } = life.chance;
  const isFree = life.step > 1 && !life.isLast;
  life.action = isFree ? pick(['run', 'run', 'run', 'retry', 'retry', 'reset'] as const) : 'run';
  if (life.action !== 'reset') {
    life.isSweep = kind === 'hot' && life.action === 'run';
    wish.resubmit = !life.isSweep && mayBe(0.15);
    wish.again = !life.isSweep && !life.isLast && mayBe(0.1);
    // A schedule keeps its policies.
    if (kind !== 'hot') {
      wish.policy = pick(['fail', 'resubmit'] as const);
      wish.onExisting = life.isLast ? 'overwrite' : pick(['fail', 'fail', 'overwrite', 'rename', 'skip'] as const);
      wish.window = pick([1, 2, 50]);
      if (mayBe(0.2)) life.dpi = pick([undefined, 72]);
    }
  }
  if (life.step > 1 && (life.isLast || mayBe(0.7))) await meddle(life);
}

function ask(life: Life): void {
  const { wish, dpi, forgets, interrupt, action, step } = life;
  const sources = [...life.sources].join(' ');
  life.told.push(`${step}. ${action} of ${sources}: ${JSON.stringify({ ...wish, dpi, forgets, interrupt })}`);
  for (const [source, content] of life.sources) {
    // A reset may go on with an older plan.
    if (action === 'reset') life.edited.add(source);
    life.outputs.forEach((output, index) => {
      const place = life.place(`${source}.${output}`);
      place.isContested = false;
      const isPlain = dpi === undefined || (life.kind === 'manifest' && index > 0);
      place.asks(`${content}${isPlain ? '' : dpi}`);
    });
  }
}

/** Converts something new at the end, which marks whatever is still open. */
function checkLast(life: Life, ended: readonly Ended[]): void {
  for (const { place, row } of ended) {
    const isThere = life.sources.has(place.name.split('.')[0] ?? '');
    const isDone = row.status === 'succeeded' || row.status === 'skipped';
    if (isThere && !isDone && !place.isContested) place.wrong(`is ${row.status} ${row.code}`);
  }
}

async function repeatUnchanged(life: Life): Promise<void> {
  const { requests } = life;
  life.told.push('unchanged');
  life.wish.resubmit = false;
  await rig.client.startPlanned(life.batch, inputOf(life, await planOf(life, 'runs')));
  const result = await endOf(life, life.batch);
  if (life.requests !== requests) life.wrong('an unchanged repetition has sent something');
  if (!result || result.skipped !== result.items) life.wrong(`unchanged: ${JSON.stringify(result)}`);
}

async function begin(life: Life): Promise<void> {
  const { mayBe, pick, random } = life.chance;
  const [from, out, batchFolder, moveDoneTo, moveFailedTo] = ['in', 'out', 'runs', 'done', 'failed'].map((name) =>
    path.join(life.folder, name),
  ) as [string, string, string, string, string];
  for (const folder of [from, out]) await mkdir(folder, { recursive: true });
  if (life.kind !== 'hot' && mayBe(0.5)) life.outputs.push('odt');
  life.wish.policy = pick(['fail', 'resubmit'] as const);
  const moves = { from, out, batchFolder, moveDoneTo, moveFailedTo };
  const hot = async () => schedule({ ...moves, to: 'docx', policies: policiesOf(life.wish) });
  life.batch = life.kind === 'hot' ? await hot() : `${life.name}-${randomUUID()}`;
  const count = 2 + Math.floor(random() * 3);
  for (let source = 1; source <= count; source += 1) await life.put(`s${source}`, pick(letters));
}

async function live(life: Life): Promise<void> {
  const { mayBe } = life.chance;
  await begin(life);
  for (life.step = 1; life.step <= steps + 1 && !life.isWrong; life.step += 1) {
    life.isLast = life.step > steps;
    life.edited = new Set();
    if (life.isCarried) life.wish.again = false;
    else await choose(life);
    life.plans(!life.isLast && mayBe(0.5));
    life.forgets = !life.isLast && mayBe(0.1);
    const before = await life.filesIn('out');
    const [inside, done, failed] = [await life.filesIn('in'), await life.filesIn('done'), await life.filesIn('failed')];
    if (life.kind === 'hot') life.lookAround(inside, life.action === 'retry' ? failed : undefined);
    ask(life);
    const ended = await act(life, life.action);
    life.interrupt = undefined;
    const isTerminated = ended.length === 0;
    life.isCarried = isTerminated && life.step < steps && mayBe(0.4);
    if (!life.isCarried) await quiet(life);
    if (isTerminated && !life.isCarried) ended.push(...(await endsOfJobs(life)));
    const indexOf = ({ place, row }: Ended) => place.tasks.findIndex(({ id }) => id === row.taskId);
    for (const each of ended.sort((one, other) => indexOf(one) - indexOf(other))) await account(each);
    const after = await life.filesIn('out');
    life.checkResults(before, after);
    if (life.kind === 'hot') await life.checkFolders(done, failed, after);
    if (life.isLast) checkLast(life, ended);
  }
  if (life.kind !== 'hot' && !life.isWrong) await repeatUnchanged(life);
}

it('converts and charges nothing twice without telling, whatever happens to batches', async () => {
  const lives = new Map<string, Life>();
  playBatches(rig, lives);
  const all = Array.from({ length: histories }, (_, seed) => new Life(rig, seed));
  const waiting = [...all];
  const work = async () => {
    for (let life = waiting.shift(); life; life = waiting.shift()) {
      lives.set(life.name, life);
      await live(life).catch((error: unknown) => life.wrong((error as Error).stack ?? String(error)));
    }
  };
  await Promise.all(Array.from({ length: together }, work));
  const wrong = all
    .filter(({ isWrong }) => isWrong)
    .map(({ name, kind, told }) => [`${name} ${kind}`, ...told].join('\n'));
  if (wrong.length > 0) throw new Error(wrong.join('\n\n'));
}, 900_000);
