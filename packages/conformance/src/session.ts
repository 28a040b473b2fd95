import { setTimeout as sleep } from 'node:timers/promises';
import { type Endpoint, endpoints, isObject } from 'temporal-file-conversion/contract';
import type { FormData } from 'undici';
import { createForm, exchangeRaw, RawHttp, type RawRequest } from './http';
import type { Reply } from './reply';
import {
  brokenSample,
  type Capabilities,
  type Capability,
  capabilityNames,
  type Credentials,
  lossyOutput,
  sample,
  sampleInput,
  type SampleFile,
  sampleOutput,
  slowOutput,
  slowSample,
  type Target,
  withoutTokens,
} from './target';
import { ensure, ensureAccepted, ensureOneOf, ifSeen, isAccepted, RuleBroken, Undecided } from './verdict';

export interface PostOptions {
  /** Default: the target's own app. */
  readonly as?: Credentials;
  readonly file?: SampleFile;
  readonly unpaced?: boolean;
}

/** A conversion in mode sync. */
export interface Conversion {
  readonly connector: string;
  readonly reply: Reply;
  /** What was sent in the field `data`. */
  readonly sent: Record<string, unknown>;
}

/** A conversion in mode async: the answer to its request, and a first look at its task. */
export interface Started {
  readonly accepted: Reply;
  readonly connector: string;
  readonly early: Reply;
}

/** A valid request and its answer. `body` is a function, because a body can be sent only once. */
interface ValidRequest {
  readonly path: string;
  readonly body: () => FormData;
  readonly reply: Reply;
}

const taskDeadlineMs = 120_000;
const overdueMs = 10_000;
const pollMs = 100;
const everything = ['entity', 'payload', 'result'];

/** One run of the rules against a target. Work that several rules need is done once. */
export class Session {
  readonly own: Credentials;
  readonly #http: RawHttp;
  readonly #baseUrl: string;
  readonly #capabilities: Partial<Capabilities>;
  readonly #done = new Map<string, Promise<unknown>>();

  constructor(target: Target) {
    this.own = { appId: target.appId, token: target.token };
    this.#baseUrl = target.baseUrl;
    this.#http = new RawHttp(target.baseUrl, (text) => withoutTokens(text, target));
    this.#capabilities = target.capabilities ?? {};
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /** @throws Undecided, so that the rule is skipped, if the target lacks the capability. */
  capability<Name extends Capability>(name: Name): Capabilities[Name] {
    const found = this.#capabilities[name];
    if (!found) throw new Undecided(`needs ${capabilityNames[name]}`);
    return found;
  }

  /** Any request, with the token of the target's own app unless it brings another authorization. */
  raw(asked: Omit<RawRequest, 'authorization'> & { authorization?: string | undefined }): Promise<Reply> {
    return this.#http.send({ authorization: bearer(this.own), ...asked });
  }

  /** A task: a form with the field `data`, to which the App ID is added unless `data` has the key `app`. */
  post(
    path: string,
    data: Record<string, unknown>,
    { as = this.own, file, unpaced }: PostOptions = {},
  ): Promise<Reply> {
    return this.#http.send({
      path,
      authorization: bearer(as),
      body: createForm(JSON.stringify({ app: as.appId, ...data }), file),
      ...(unpaced !== undefined && { unpaced }),
    });
  }

  upload(asked: PostOptions = {}, data: Record<string, unknown> = {}): Promise<Reply> {
    return this.post(endpoints.uploadFile, data, { file: sample, ...asked });
  }

  async uploadedConnector(asked: PostOptions = {}): Promise<string> {
    const reply = await this.upload(asked, { include: ['entity', 'result'] });
    const connector = isAccepted(reply) ? await this.#connectorOf(reply, asked.as) : undefined;
    if (connector !== undefined) return connector;
    // Uploads of the target's own app have a rule of their own, so their failure leaves this rule undecided.
    const Verdict = asked.as && !isAccepted(reply) ? RuleBroken : Undecided;
    throw new Verdict(`the upload that this rule begins with gave no connector: ${reply.describe()}`);
  }

  /** If connector and id differ, which breaks another rule, the one that the service knows. */
  async #connectorOf(reply: Reply, as = this.own): Promise<string | undefined> {
    const [connector, id] = [reply.text('result.output.connector'), reply.text('entity.id')];
    if (connector === undefined || id === undefined || connector === id) return connector ?? id;
    return isAccepted(await this.post(endpoints.taskResponse, { connector }, { as })) ? connector : id;
  }

  /** Submits a conversion of the uploaded sample; `data` adds to or replaces the data keys that it needs. */
  async submit(data: Record<string, unknown>): Promise<Reply> {
    const connector = await this.uploaded();
    return this.post(endpoints.convertFile, { connector, parameters: { output: sampleOutput }, ...data });
  }

  /** Uploads the sample and converts it; the answer comes when the conversion is over. */
  async convert(
    asked: PostOptions = {},
    parameters: Record<string, unknown> = { output: sampleOutput },
  ): Promise<Conversion> {
    const connector = await this.uploadedConnector(asked);
    const { as, unpaced } = asked;
    const sent = { connector, include: everything, mode: 'sync', parameters };
    const reply = await this.post(endpoints.convertFile, sent, { ...(as && { as }), ...(unpaced && { unpaced }) });
    return { connector: (await this.#connectorOf(reply, as)) ?? '', reply, sent };
  }

  /** The connector of an uploaded sample. */
  uploaded(): Promise<string> {
    return this.#once('uploaded', () => this.uploadedConnector());
  }

  /** The connector that a task of each kind gave for the next one, if any. */
  async connectors(): Promise<Record<'uploaded' | 'converted' | 'link', string | undefined>> {
    const [link] = await ifSeen(this.linked());
    const [[uploaded], [converted]] = [await ifSeen(this.uploaded()), await ifSeen(this.converted())];
    return { uploaded, converted: converted?.connector, link: link && (await this.#connectorOf(link)) };
  }

  /** A valid request for every endpoint, and its answer; without endpoints that refuse it. */
  async validRequests(): Promise<ValidRequest[]> {
    const accepted = (await this.#requests()).filter(({ reply }) => isAccepted(reply));
    if (accepted.length === 0) throw new Undecided('every endpoint refuses what is right');
    return accepted;
  }

  /** Rules about an endpoint call this first, so that only one of them reports that it refuses a valid request. */
  served(path: Endpoint): Promise<void> {
    return this.#once(`served ${path}`, async () => {
      for (const request of await this.#requests()) {
        if (request.path === path) ensureAccepted(request.reply, `${path}, with the token`);
      }
    });
  }

  #requests(): Promise<ValidRequest[]> {
    return this.#once('requests', async () => {
      const { uploaded: connector, converted, link } = await this.connectors();
      const data: Record<Endpoint, object> = {
        [endpoints.uploadFile]: {},
        [endpoints.convertFile]: { connector, parameters: { output: sampleOutput } },
        [endpoints.taskResponse]: { connector },
        [endpoints.convertStatus]: { connector: converted },
        [endpoints.downloadUrl]: { connector: converted },
        [endpoints.downloadUrlGet]: { connector: link },
        [endpoints.convertFormats]: { parameters: { sublist: 'inputs' } },
        [endpoints.formatGet]: { parameters: { format: sampleInput } },
        [endpoints.convertGraph]: { parameters: { input: sampleInput, output: sampleOutput } },
      };
      const requests = Object.entries(data).map(([path, keys]) => ({
        path,
        body: () =>
          createForm(
            JSON.stringify({ app: this.own.appId, ...keys }),
            path === endpoints.uploadFile ? sample : undefined,
          ),
      }));
      const answered: ValidRequest[] = [];
      for (const request of requests) {
        answered.push({ ...request, reply: await this.raw({ path: request.path, body: request.body() }) });
      }
      return answered;
    });
  }

  /** The field `data` of a request to `task/response`. */
  async validData(): Promise<string> {
    return JSON.stringify({ app: this.own.appId, connector: await this.uploaded() });
  }

  /** A conversion of the sample, however it ended. */
  attempted(): Promise<Conversion> {
    return this.#once('attempted', () => this.convert());
  }

  /** The same, for rules that examine a successful one. */
  async converted(): Promise<Conversion> {
    const conversion = await this.attempted();
    const { connector, reply } = conversion;
    if (!isAccepted(reply) || connector === '') throw new Undecided(`no conversion to look at: ${reply.describe()}`);
    return conversion;
  }

  /** A conversion with a warning. */
  convertedWithLoss(): Promise<Conversion> {
    return this.#once('lossy', () => this.convert({}, { output: lossyOutput }));
  }

  /** A conversion that was accepted and failed. */
  failed(): Promise<Conversion> {
    return this.#once('failed', async () => {
      const conversion = await this.convert({ file: brokenSample });
      if (conversion.reply.text('entity.id') === undefined || conversion.reply.errorCode === undefined) {
        throw new Undecided('a broken image was converted, or refused before it became a task');
      }
      return conversion;
    });
  }

  /** The answer to `download/url` for the converted sample, whatever it is. */
  linkAnswer(): Promise<Reply> {
    return this.#once('linked', async () => {
      const { connector } = await this.converted();
      return this.post(endpoints.downloadUrl, { connector, include: everything });
    });
  }

  /** The same, for rules that need a link. */
  async linked(): Promise<Reply> {
    const reply = await this.linkAnswer();
    if (!isAccepted(reply)) throw new Undecided(`no link to look at: ${reply.describe()}`);
    return reply;
  }

  /** Two slow conversions in mode async, one right behind the other, each with its answer and an early look at its task. */
  started(): Promise<Started & { second: Started }> {
    return this.#once('started', async () => {
      const connector = await this.uploadedConnector({ file: slowSample });
      const data = { connector, include: ['entity', 'result'], mode: 'async', parameters: { output: slowOutput } };
      const submit = async () => {
        const accepted = await this.post(endpoints.convertFile, data);
        const id = accepted.text('entity.id');
        ensure(id !== undefined, `an async conversion does not tell its task: ${accepted.describe()}`);
        return { accepted, connector: id };
      };
      const [first, second] = [await submit(), await submit()];
      const behind = { ...second, early: await this.monitor(second.connector) };
      return { ...first, early: await this.monitor(first.connector), second: behind };
    });
  }

  /** The same, for rules about tasks that are not completed. */
  async seenRunning(): Promise<Started> {
    const started = await this.started();
    const status = started.early.at('result.output.entity.status');
    if (status === 'completed') throw new Undecided('the slow conversion was over before it could be looked at');
    return started;
  }

  /** The entity of a conversion that waits for another. */
  async seenOnHold(): Promise<Record<string, unknown>> {
    const { early, second } = await this.started();
    for (const reply of [second.early, early]) {
      const entity = reply.at('result.output.entity');
      if (isObject(entity) && entity['status'] === 'hold') return entity;
    }
    throw new Undecided('no conversion was on hold: the service converts two at a time');
  }

  /** Answers to requests that cannot be parsed. */
  unreadable(): Promise<[what: string, reply: Reply][]> {
    return this.#once('unreadable', async () => {
      const head = (line: string) => (target: { path: string; host: string }) =>
        `POST ${target.path}/${endpoints.taskResponse} HTTP/1.1\r\nhost: ${target.host}\r\n${line}\r\n\r\n`;
      return [
        ['a header without a colon', await exchangeRaw(this.#baseUrl, head('no header'))],
        ['headers of 100 KB', await exchangeRaw(this.#baseUrl, head(`x-long: ${'x'.repeat(100_000)}`))],
      ];
    });
  }

  /** Answers to a request that can't be read as JSON, and to one that lacks its data. */
  refusals(): Promise<Reply[]> {
    return this.#once('refusals', async () => [
      await this.raw({ path: endpoints.taskResponse, body: '' }),
      await this.post(endpoints.taskResponse, {}),
    ]);
  }

  /** The slow conversion after its end. */
  async finished(): Promise<Reply> {
    return this.polled().catch(tellNoMore);
  }

  /** The same, for the rule that it ends. */
  polled(): Promise<Reply> {
    return this.#run('finished', async () => {
      const { connector } = await this.started();
      let deadline = Date.now() + taskDeadlineMs;
      let isOver = false;
      for (;;) {
        const reply = await this.monitor(connector);
        const status = reply.at('result.output.entity.status');
        if (status === 'completed') return reply;
        ensureOneOf(status, ['hold', 'running'], 'the status of a task that is monitored');
        ensure(
          Date.now() < deadline,
          `the task is not completed ${isOver ? `${overdueMs / 1_000} s after convert/status said that it had ended` : `after ${taskDeadlineMs / 1_000} s`}: ${reply.describe()}`,
        );
        if (!isOver && (await this.#hasEnded(connector))) {
          isOver = true;
          deadline = Date.now() + overdueMs;
        }
        await sleep(pollMs);
      }
    });
  }

  /** According to `convert/status`, which may be seconds before the task is completed. */
  async #hasEnded(connector: string): Promise<boolean> {
    const reply = await this.post(endpoints.convertStatus, { connector });
    return ['successful', 'failed'].includes(reply.text('result.output.status') ?? '');
  }

  /** Asks `task/response`. */
  monitor(connector: string, data: Record<string, unknown> = {}): Promise<Reply> {
    return this.post(endpoints.taskResponse, { connector, ...data });
  }

  /** Runs once. If it fails, only the first rule that needs it fails and the others are undecided: one breach is reported once. */
  #once<Value>(name: string, run: () => Promise<Value>): Promise<Value> {
    const isFirst = !this.#done.has(name);
    const done = this.#run(name, run);
    return isFirst ? done : done.catch(tellNoMore);
  }

  #run<Value>(name: string, run: () => Promise<Value>): Promise<Value> {
    const done = (this.#done.get(name) as Promise<Value> | undefined) ?? run();
    this.#done.set(name, done);
    return done;
  }
}

function tellNoMore(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  throw error instanceof Undecided ? error : new Undecided(`another rule found what this one needs broken: ${reason}`);
}

export function bearer({ token }: Credentials): string {
  return `Bearer ${token}`;
}
