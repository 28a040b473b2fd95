import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import { errorCodes } from '../../src/contract/error-codes';
import type { ConversionFailureDetails, ConversionJobResult } from '../../src/job/types';
import { begunDownloads } from '../support/begun-downloads';
import { callbackKeyText, startCallingBackRig } from '../support/calling-back';
import { chanceOf } from '../support/chance';
import { quickPolicies } from '../support/conversion-worker';
import { SecretTraces } from '../support/secret-traces';
import { json, output, page, refusal, send, spoilt, type Wire } from '../support/spoilt-answers';
import { stubAppId, stubToken, type SeenRequest } from '../support/stub-service';
import { until } from '../support/until';
import { whileTesting } from '../support/while-testing';

/*
 * Whole jobs against a service whose every answer and callback is left to chance: right, late, spoilt on its way, a gateway's or a refusal.
 * An accountant, who knows only what the service has seen and done, checks how each job ends.
 */

const [jobs, together] = [100, 12];
const endsWithinMs = 90_000;
/** Probability of an odd answer, where most jobs would end early, or see only a few. Elsewhere each job has its own. */
const oddity: Record<string, number> = { 'upload/file': 0.2, 'convert/file': 0.5, 'download/url/get': 0.5 };

const policies = {
  ...quickPolicies,
  ...{ uploadDeadline: 4_000, submitTimeout: 2_000, submitDeadline: 4_000, conversionDeadline: 4_000 },
  ...{ downloadDeadline: 4_000, parkedDeadline: 3_000, unknownOutcomeWait: 400, pollAfter: 300 },
};
const rig = whileTesting(startCallingBackRig, (started) => started.close(), { before: beforeAll, after: afterAll });

type Payload = Record<string, unknown>;
interface Task {
  id: string;
  life: Life;
  result: Buffer;
  /** The code with which it fails; it may be charged all the same. */
  fails: string | undefined;
  isCharged: boolean;
  payload: Payload;
  callback: string | undefined;
  /** Polls that find it running. */
  left: number;
}

/** What the service knows of a job. */
class Life {
  readonly chance: ReturnType<typeof chanceOf>;
  readonly told: string[] = [];
  isWrong = false;
  readonly tasks: Task[] = [];
  /** Submits that were not refused. */
  open = 0;
  requests = 0;
  readonly oddity: number;

  constructor(
    readonly name: string,
    seed: number,
  ) {
    this.chance = chanceOf(seed);
    this.chance.random();
    this.oddity = this.chance.pick([0.1, 0.3, 0.5]);
  }

  wrong(problem: string): void {
    this.isWrong = true;
    this.told.push(`  WRONG: ${problem}`);
  }

  run(payload: Payload): Task {
    const { mayBe, pick, random } = this.chance;
    const fails = mayBe(0.2) ? pick(codes) : undefined;
    const id = randomUUID();
    const result = Buffer.from(`%PDF-1.4\n${id} ${'x'.repeat(random() * pick([100, 300_000]))}\n%%EOF\n`);
    const [isCharged, left] = [fails === undefined || mayBe(0.1), pick([0, 0, 1, 3])];
    const callback = payload['callback'] as string | undefined;
    const task = { id, life: this, result, fails, isCharged, payload, callback, left };
    this.tasks.push(task);
    tasks.set(id, task);
    return task;
  }

  spoilt(wire: Wire, endpoint: string): Wire {
    const elsewhere = ['/v1/x', `${storageUrl()}/x?signature=${linkSecret}`, 'ftp://x', '::'];
    const [what, answer] = spoilt(wire, { chance: this.chance, elsewhere });
    this.told.push(`  ${endpoint}: ${what}`);
    return answer;
  }
}

const recoverable = [
  ...['INSUFFICIENT_VCREDITS', 'INVALID_CREDENTIAL', 'TOO_MANY_REQUESTS', 'INTERNAL_SERVER_ERROR', 'FILE_NOT_EXISTS'],
  ...['NO_CONNECTOR_DEPENDENT_TASK', 'NOT_READY_DEPENDENT_TASK', 'MISMATCH_DEPENDENT_TASK', 'DOWNLOAD_EXPIRED'],
];
const codes = [...Object.keys(errorCodes), 'SOME_LATER_CODE', ...Array.from({ length: 12 }, () => recoverable).flat()];
const lives = new Map<string, Life>();
const uploads = new Map<string, Life>();
/** By its id and the connectors of its downloads. */
const tasks = new Map<string, Task>();
const callbacks: Promise<void>[] = [];
const storageSaw: string[] = [];
/** Another host, where some results are. */
let storage: Server;
const storageUrl = () => `http://127.0.0.1:${(storage.address() as AddressInfo).port}`;
const linkSecret = 'signature-of-a-download-link-815';

/** What the service says of a task. */
function stateOf(task: Task): object {
  const { id, fails, isCharged, payload, callback, left, life } = task;
  task.left -= 1;
  if (left > 0) return { entity: { id, status: 'running' }, result: life.chance.pick([null, {}, []]), payload };
  const error = fails === undefined ? {} : { code: fails, message: `Bearer ${stubToken} ${callback}` };
  const ended = fails === undefined ? { connector: id, status: 'successful', duration: 1 } : {};
  const entity = { id, type: 'task', status: 'completed', vcredits: isCharged ? 1 : 0 };
  return { entity, result: { output: ended, error, warning: {} }, payload };
}

/** The right answers. What they tell has happened, whether or not they arrive. */
const right: Record<string, (seen: SeenRequest, life: Life) => Wire> = {
  'upload/file': (_seen, life) => {
    const connector = randomUUID();
    uploads.set(connector, life);
    return output({ connector, size: 1 });
  },
  'convert/file': ({ data }, life) => {
    const task = life.run(data);
    if (life.chance.mayBe(0.3)) callBack(task);
    if (data['mode'] === 'sync') return json(stateOf(Object.assign(task, { left: 0 })));
    return json({ entity: { id: task.id, status: life.chance.pick(['hold', 'running']) }, result: {} });
  },
  'task/response': ({ connector }, { chance }) => {
    const task = tasks.get(connector);
    if (task && chance.mayBe(0.2)) callBack(task);
    return task ? output(stateOf(task)) : refusal('NO_CONNECTOR_DEPENDENT_TASK');
  },
  'download/url': ({ connector: id }, { chance }) => {
    const task = tasks.get(id) as unknown as Task;
    const connector = randomUUID();
    tasks.set(connector, task);
    const elsewhere = `${storageUrl()}/${connector}?signature=${linkSecret}`;
    const url = chance.pick(['/v1/download/url/get', 'https://api.vertopal.com/v1/download/url/get', elsewhere]);
    return output({ connector, name: '../../../x', size: task.result.length, url });
  },
  'download/url/get': ({ connector }, { chance }) => {
    const task = tasks.get(connector) as unknown as Task;
    if (chance.mayBe(0.2)) callBack(task);
    return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: task.result };
  },
};

function answerOf(seen: SeenRequest, life: Life): Wire {
  const { path: endpoint, data } = seen;
  const { mayBe, pick } = life.chance;
  const isSubmit = endpoint === 'convert/file';
  const happens = () => (right[endpoint] ?? (() => refusal('NOT_FOUND')))(seen, life);
  const note = (what: string) => life.told.push(`  ${endpoint}: ${what}`);
  const isOpen = () => (life.open += isSubmit ? 1 : 0);
  const isOdd = mayBe(oddity[endpoint] ?? life.oddity);
  if (!isOdd || mayBe(0.6)) {
    isOpen();
    if (isOdd) return life.spoilt(happens(), endpoint);
    note('right');
    return { ...happens(), isRight: true };
  }
  if (mayBe(0.6)) {
    const status = pick([408, 408, 429, 500, 502, 503]);
    note(`HTTP ${status}`);
    if (status !== 429) {
      isOpen();
      if (mayBe(0.5)) happens();
    }
    const { headers, body } = pick([refusal('INTERNAL_SERVER_ERROR'), json({}), { ...json(0), body: page }]);
    const wait = pick([undefined, undefined, 0, 0, 0, 1]);
    return { status, body, headers: { ...headers, ...(wait !== undefined && { 'retry-after': wait }) } };
  }
  const code = pick(codes);
  note(code);
  const fields = { callback: String(data['callback']), ...(mayBe(0.2) && { status: pick([200, 400, 403]) }) };
  if (isSubmit && mayBe(0.2)) {
    note('but it runs');
    isOpen();
    return refusal(code, { ...fields, entity: { id: life.run(data).id, status: pick(['hold', 'running']) } });
  }
  if (code === 'INTERNAL_SERVER_ERROR') {
    isOpen();
    if (mayBe(0.5)) happens();
  }
  return refusal(code, fields);
}

/** Calls back at any time: early, twice, with an older state, for another task, or with a wrong signature. */
function callBack({ id, callback, life }: Task): void {
  if (callback === undefined) return;
  const { pick, mayBe, random } = life.chance;
  const named = pick([id, id, id, pick([...tasks.values()]).id, randomUUID(), undefined]);
  const status = pick(['completed', 'running']);
  const body = pick([JSON.stringify({ entity: { id: named, status } }), '', '{"entity":', `Bearer ${stubToken}`]);
  const isForged = mayBe(0.2);
  const url = isForged ? callback.replace(/.{4}$/, 'AAAA') : callback;
  life.told.push(`  called back ${isForged ? 'with a wrong signature' : body}`);
  const call = async (waitMs: number) => {
    await sleep(waitMs);
    const answer = await fetch(url, { method: 'POST', body });
    if (answer.status !== (isForged ? 401 : 204)) life.wrong(`a callback was answered ${answer.status}`);
  };
  for (let times = pick([1, 1, 2]); times > 0; times -= 1) callbacks.push(call(pick([0, random() * 500])));
}

beforeAll(() => {
  storage = createServer((request, response) => {
    storageSaw.push(JSON.stringify([request.method, request.url, request.headers]));
    const task = tasks.get((request.url ?? '').slice(1, 37));
    const wire = { status: task ? 200 : 404, headers: {}, body: task?.result ?? page };
    const isOdd = task?.life.chance.mayBe(0.5) === true;
    void send(response, isOdd ? task.life.spoilt(wire, 'storage') : wire);
  }).listen(0, '127.0.0.1');
  for (const endpoint of Object.keys(right)) {
    rig.stub.on(endpoint, async (seen, response) => {
      const name = /filename="(\w+)\.md"/.exec(seen.body.toString('latin1'))?.[1] ?? '';
      const life = lives.get(name) ?? uploads.get(seen.connector) ?? tasks.get(seen.connector)?.life;
      if (life) life.requests += 1;
      await send(response, life ? answerOf(seen, life) : refusal('NO_CONNECTOR_DEPENDENT_TASK'));
    });
  }
});
afterAll(() => storage.close());

type End = Partial<ConversionJobResult & ConversionFailureDetails>;

async function live(life: Life): Promise<void> {
  const { name, chance, told } = life;
  const folder = path.join(rig.folder, 'out', name);
  const content = `# ${name}\n${'y'.repeat(chance.random() * chance.pick([10, 200_000]))}`;
  const source = await rig.source(`${name}.md`, content);
  const onUnknownOutcome = chance.pick(['fail', 'resubmit', 'resubmit'] as const);
  const onRefusedAccount = chance.pick(['fail', 'park'] as const);
  const { firstCheckAfter, ...learned } = policies;
  const request = {
    ...{ source, output: 'pdf', destination: path.join(folder, 'result.pdf') },
    ...(chance.mayBe(0.2) && { mode: 'sync' as const }),
    policies: { ...learned, ...(chance.mayBe(0.7) && { firstCheckAfter }), onUnknownOutcome, onRefusedAccount },
  };
  told.push(`${name}: ${JSON.stringify({ oddity: life.oddity, ...request })}`);
  const startedAt = Date.now();
  const handle = await rig.client.start(request);
  const tooLong = sleep(endsWithinMs, 'tooLong' as const, { ref: false });
  let text = '';
  const end = await Promise.race([handle.result(), tooLong]).catch((error: unknown): End => {
    if (!(error instanceof ConversionFailedError)) throw error;
    text = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
    if (!error.message.includes(`${name}.md`)) life.wrong('the message does not name the file');
    return { ...error.details, code: error.code };
  });
  if (end === 'tooLong') throw new Error('it does not end');
  const tookMs = Date.now() - startedAt;
  const { status, code, charge, taskId, possiblyChargedExtra: extra = 0, requests = 0 }: End = end;
  told.push(`  ${JSON.stringify({ tookMs, seen: life.requests, ...end })} ${text}`);
  const charged = life.tasks.filter((task) => task.isCharged).length;
  const toldOf = (charge === 'no' ? 0 : 1) + extra;
  if (charged > toldOf) life.wrong(`${charged} are charged, ${toldOf} told`);
  if (toldOf > life.open) life.wrong(`${toldOf} are told, and ${life.open} submits were not refused`);
  if (charged > 1 && onUnknownOutcome === 'fail') life.wrong(`${charged} are charged under "fail"`);
  if (Math.max(requests, life.requests) > 40 + tookMs / 40) life.wrong(`${life.requests} requests`);
  if (status === undefined && (!code || code === 'UNEXPECTED')) life.wrong(`the code is ${code}`);
  // An attempt may outlive the deadline for a moment, or have delivered when Temporal heard of it too late.
  await until('its last attempt is over', async () => (await begunDownloads(folder)).length === 0).catch(String);
  const files = await readdir(folder).catch(() => []);
  const isDelivered = status !== undefined || (code === 'DOWNLOAD_DEADLINE' && files.length > 0);
  if (files.join() !== (isDelivered ? 'result.pdf' : '')) life.wrong(`it left ${files.join()}`);
  const result = life.tasks.find(({ id }) => id === taskId)?.result;
  if (isDelivered && !result?.equals(await readFile(request.destination))) life.wrong('the result is another');
  const shown = [text, await rig.events(handle.workflowId)];
  const signatures = life.tasks.flatMap(({ callback }) => callback?.slice(-43) ?? []);
  for (const secret of [stubToken, callbackKeyText, linkSecret, ...signatures])
    if (new SecretTraces(secret).findInValue(shown)) life.wrong(`it tells ${secret}`);
}

it('pays for nothing without telling, and delivers only what the service made, whatever the service answers', async () => {
  const begin = (life: Life) => {
    lives.set(life.name, life);
    return live(life).catch((error: unknown) => life.wrong(String(error)));
  };
  // Not judged: a cold worker on a busy machine may miss an answer that was sent in time.
  await begin(new Life('first', 0));
  const all = Array.from({ length: jobs }, (_, index) => new Life(`j${index}`, index + 1));
  const waiting = all.values();
  const work = async () => {
    for (const life of waiting) {
      await begin(life);
      life.tasks.forEach(callBack);
    }
  };
  await Promise.all(Array.from({ length: together }, work));
  await Promise.all(callbacks);
  const wrong = all.filter(({ isWrong }) => isWrong).map(({ told }) => told.join('\n'));
  if (wrong.length > 0) throw new Error(wrong.join('\n\n'));
  const secrets = new RegExp([stubToken, stubAppId, callbackKeyText, 'authorization'].join('|'), 'i');
  expect(storageSaw.filter((seen) => secrets.test(seen))).toEqual([]);
});
