import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginnings, endOfPng, type Format, formats, partners } from './account-formats';
import { parseForm } from './parse-form';

/**
 * The service of a real account as the document and the public pages describe it. Written from those alone, it shares no code with the
 * embedded service, so that tests expose assumptions that both sides of our own code make.
 */

type Json = Record<string, unknown>;
type Item = 'entity' | 'payload' | 'result';

interface Task {
  id: string;
  path: string;
  payload: Json;
  status: 'hold' | 'running' | 'completed';
  created: Date;
  started?: Date;
  completed?: Date;
  result?: { output: Json; error: Json; warning: Json };
  file?: { name: string; bytes: Buffer };
}

export interface AccountService {
  readonly url: string;
  /** Number of requests to `upload/file` or another endpoint, named without its version. */
  count(path: string): number;
  /** Number of requests to all endpoints about formats. */
  questions(): number;
  /** Holds conversions until the returned function is called. */
  holdConversions(): () => void;
  close(): Promise<void>;
}

export const accountApp = 'f3d1b0a2-5c7e-4d8f-9a6b-0c1d2e3f4a5b';
export const accountToken = 'account-token-0815';

const items: readonly Item[] = ['entity', 'payload', 'result'];
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const statuses: Record<string, number> = {
  ...{ MISSING_AUTHORIZATION_HEADER: 403, INVALID_AUTHORIZATION_HEADER: 403, INVALID_CREDENTIAL: 403 },
  ...{ NOT_FOUND: 404, POST_METHOD_ALLOWED: 405, NO_CONNECTOR_DEPENDENT_TASK: 404, NOT_READY_DEPENDENT_TASK: 404 },
  ...{ EMPTY_FILE: 200, NOT_VALID_EXTENSION: 200, INVALID_FORMAT: 200, WRONG_FORMAT_STRUCTURE: 200 },
  ...{ INVALID_INPUT_FORMAT: 200, INVALID_OUTPUT_FORMAT: 200, WRONG_INPUT_FORMAT_STRUCTURE: 200 },
  ...{ WRONG_OUTPUT_FORMAT_STRUCTURE: 200, NOT_MATCH_EXTENSION_AND_INPUT: 200, NO_CONVERTER_INPUT_TO_OUTPUT: 200 },
  ...{ FAILED_CONVERT: 200 },
};

class Refused extends Error {
  constructor(
    readonly code: string,
    name = '',
  ) {
    super(`${code} [${name}]`.replace('[]', '').trim());
  }
}

/** The parameters and data keys of each endpoint. */
const endpoints: Record<string, { parameters: Json; required: readonly string[]; connector?: 'required' }> = {
  'upload/file': { parameters: {}, required: [] },
  'convert/file': { parameters: { output: '', input: '' }, required: ['output'], connector: 'required' },
  'task/response': { parameters: { include: items }, required: [], connector: 'required' },
  'convert/status': { parameters: {}, required: [], connector: 'required' },
  'download/url': { parameters: {}, required: [], connector: 'required' },
  'download/url/get': { parameters: {}, required: [], connector: 'required' },
  'format/get': { parameters: { format: '' }, required: ['format'] },
  'convert/formats': { parameters: { sublist: ['inputs', 'outputs'], format: '' }, required: ['sublist'] },
  'convert/graph': { parameters: { input: '', output: '' }, required: ['input', 'output'] },
};

export async function startAccountService(): Promise<AccountService> {
  const tasks = new Map<string, Task>();
  const seen: string[] = [];
  const used: Record<string, number> = {};
  let origin = '';
  /** A single engine: conversions run one after the other. */
  let engine: Promise<void> = Promise.resolve();

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.on('clientError', (_error, socket) => {
    const body = JSON.stringify(refusal(new Refused('INVALID_FIELD')));
    const head = Object.entries({
      ...rateHeaders(''),
      'content-type': 'application/json',
      'content-length': body.length,
    });
    socket.end(
      `HTTP/1.1 400 Bad Request\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: origin,
    count: (path) => seen.filter((each) => each === path).length,
    questions: () => seen.filter((each) => /^(convert\/(formats|graph)|format\/get)$/.test(each)).length,
    holdConversions: () => {
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      engine = engine.then(() => held);
      return release;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  function rateHeaders(path: string): Record<string, number> {
    const limit = path === 'upload/file' ? 1_000 : 100_000;
    const count = (used[path] = (used[path] ?? 0) + 1);
    return { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': limit - count, 'x-ratelimit-reset': 60 };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    // A path without a version means the latest one.
    const path = /^\/(?:v1\/)?([a-z/]+)$/.exec(request.url ?? '')?.[1] ?? '';
    if (endpoints[path]) seen.push(path);
    const send = (status: number, body: Json | Buffer) => {
      const type = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json';
      response.writeHead(status, { ...rateHeaders(path), 'content-type': type });
      response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    };
    let task: Task | undefined;
    let data: Json = {};
    try {
      if (!endpoints[path]) throw new Refused('NOT_FOUND');
      if (request.method !== 'POST') throw new Refused('POST_METHOD_ALLOWED');
      authenticate(request.headers.authorization);
      const form = await readForm(request, Buffer.concat(chunks));
      data = readData(form);
      task = { id: randomUUID(), path, payload: data, status: 'running', created: new Date(), started: new Date() };
      check(path, data);
      const bytes = await run(path, { task, data, file: form.get('file') });
      if (bytes) send(200, bytes);
      else send(200, compose(task, data));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (task) finish(task, { output: {}, error: { code: error.code, message: error.message } });
      const body = task ? compose(task, data) : refusal(error);
      const status = statuses[error.code] ?? 400;
      send(status, status >= 400 || body['result'] === undefined ? { ...body, ...topLevel(error) } : body);
    }
  }

  function compose(task: Task, data: Json): Json {
    tasks.set(task.id, task);
    const asked = data['include'];
    const isList = Array.isArray(asked) && asked.every((each) => items.includes(each as Item));
    const body = respond(task, isList ? (asked as Item[]) : ['result']);
    return task.status !== 'completed' && 'result' in body
      ? {
          ...body,
          entity: body['entity'] && { ...(body['entity'] as Json), status: 'running', started_at: time(task.created) },
          result: { output: {}, error: {}, warning: {} },
        }
      : body;
  }

  async function run(path: string, { task, data, file }: { task: Task; data: Json; file: unknown }) {
    const parameters = (data['parameters'] ?? {}) as Record<string, string>;
    const connector = data['connector'];
    const source = endpoints[path]?.connector ? tasks.get(String(connector)) : undefined;
    if (endpoints[path]?.connector && !source) throw new Refused('NO_CONNECTOR_DEPENDENT_TASK');
    switch (path) {
      case 'upload/file': {
        finish(task, { output: await keepUpload(task, file) });
        return;
      }
      case 'convert/file':
        return convert(task, { source, parameters, mode: data['mode'] });
      case 'task/response': {
        const include = (parameters['include'] as unknown as Item[] | undefined) ?? items;
        finish(task, { output: source ? respond(source, include) : {} });
        return;
      }
      case 'convert/status': {
        if (source?.path !== 'convert/file') throw new Refused('MISMATCH_DEPENDENT_TASK');
        const isGood = source.result?.error['code'] === undefined;
        const open = source.status === 'hold' ? 'waiting' : 'pending';
        finish(task, { output: { status: source.status !== 'completed' ? open : isGood ? 'successful' : 'failed' } });
        return;
      }
      case 'download/url': {
        if (source?.path !== 'convert/file') throw new Refused('MISMATCH_DEPENDENT_TASK');
        if (!source.file) throw new Refused('NOT_READY_DEPENDENT_TASK');
        task.file = source.file;
        const { name, bytes } = source.file;
        const url = `${origin}/v1/download/url/get`;
        finish(task, { output: { connector: task.id, name, size: bytes.length, expires_at: time(inADay()), url } });
        return;
      }
      case 'download/url/get':
        if (source?.path !== 'download/url') throw new Refused('MISMATCH_DEPENDENT_TASK');
        finish(task, { output: {} });
        return source.file?.bytes;
      default: {
        finish(task, { output: aboutFormats(path, parameters) });
        return;
      }
    }
  }

  function convert(
    task: Task,
    { source, parameters, mode }: { source?: Task | undefined; parameters: Record<string, string>; mode: unknown },
  ) {
    if (source?.path !== 'upload/file') throw new Refused('MISMATCH_DEPENDENT_TASK');
    const { name, bytes } = source.file ?? { name: '', bytes: Buffer.alloc(0) };
    const extension = name.split('.').pop() ?? '';
    const output = find(parameters['output'] ?? '', 'OUTPUT_');
    const input = find(parameters['input'] ?? extension, 'INPUT_');
    if (input.extension !== extension) throw new Refused('NOT_MATCH_EXTENSION_AND_INPUT', input.format);
    if (!partners(input, output))
      throw new Refused('NO_CONVERTER_INPUT_TO_OUTPUT', `${input.format} to ${output.format}`);
    task.status = 'hold';
    delete task.started;
    engine = engine.then(async () => {
      task.status = 'running';
      task.started = new Date();
      if (input.kind === 'document') await sleep(300);
      const isDamaged = extension === 'png' && !bytes.includes(endOfPng);
      if (isDamaged) {
        const error = { code: 'FAILED_CONVERT', message: 'The file could not be converted.' };
        finish(task, { output: { status: 'failed', duration: 0 }, error });
        return;
      }
      task.file = {
        name: name.replace(/\.\w+$/, `.${output.extension}`),
        bytes: Buffer.from(`${beginnings[output.format] ?? ''}${output.format} of ${name}`, 'latin1'),
      };
      finish(task, {
        output: { connector: task.id, status: 'successful', duration: 0 },
        warning: output.format === 'jpg' ? { TRANSPARENCY_LOST: 'Choose png to keep it.' } : {},
      });
    });
    return mode === 'async' ? undefined : engine.then(() => undefined);
  }
}

function finish(
  task: Task,
  { output, error = {}, warning = {} }: { output: Json; error?: Json; warning?: Json },
): undefined {
  Object.assign(task, { status: 'completed', completed: new Date(), result: { output, error, warning } });
}

/** A task in the format of `task/response`. */
function respond(task: Task, include: readonly Item[]): Json {
  const { id, path, status, created, started, completed } = task;
  const times = {
    created_at: time(created),
    started_at: started && time(started),
    completed_at: completed && time(completed),
  };
  const entity = { id, type: 'task', endpoint: `v1/${path}`, status, vcredits: 0, ...times };
  const parts: Record<Item, unknown> = { entity, payload: task.payload, result: task.result ?? null };
  return Object.fromEntries(items.filter((item) => include.includes(item)).map((item) => [item, parts[item]]));
}

function topLevel({ code, message }: Refused): Json {
  return { code, message };
}

function refusal(error: Refused): Json {
  return { result: { output: {}, error: topLevel(error), warning: {} }, ...topLevel(error) };
}

function authenticate(header: string | undefined): void {
  if (header === undefined) throw new Refused('MISSING_AUTHORIZATION_HEADER');
  const token = /^Bearer (.+)$/.exec(header)?.[1];
  if (token === undefined) throw new Refused('INVALID_AUTHORIZATION_HEADER');
  if (token !== accountToken) throw new Refused('INVALID_CREDENTIAL');
}

async function readForm(request: IncomingMessage, body: Buffer): Promise<Map<string, unknown>> {
  const type = request.headers['content-type'] ?? '';
  if (!/^(multipart\/form-data|application\/x-www-form-urlencoded)/.test(type)) return new Map();
  return new Map((await parseForm(body, type)).entries());
}

function readData(form: Map<string, unknown>): Json {
  const text = form.get('data');
  if (text === undefined) throw new Refused('MISSING_REQUIRED_FIELD', 'data');
  const unknown = [...form.keys()].find((name) => name !== 'data' && name !== 'file');
  if (unknown !== undefined) throw new Refused('INVALID_FIELD', unknown);
  let data: unknown;
  try {
    data = JSON.parse(typeof text === 'string' ? text : '');
  } catch {
    throw new Refused('INVALID_FIELD', 'data');
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw new Refused('WRONG_TYPE_FIELD', 'data');
  return data as Json;
}

/** The rules for data keys and parameters. The value in the table shows the type of a value. */
function check(path: string, data: Json): void {
  const { parameters, required, connector } = endpoints[path] ?? { parameters: {}, required: [] };
  const keys: Json = { app: '', include: items, mode: ['sync', 'async'], callback: '', parameters: {} };
  if (path !== 'upload/file') keys['connector'] = '';
  const needed = ['app', ...(connector ? ['connector'] : []), ...(required.length > 0 ? ['parameters'] : [])];
  checkAll(data, { allowed: keys, needed, what: 'DATA_KEY' });
  for (const name of ['app', 'connector']) {
    if (data[name] !== undefined && !uuid.test(data[name] as string)) throw new Refused('WRONG_VALUE_DATA_KEY', name);
  }
  checkAll((data['parameters'] ?? {}) as Json, { allowed: parameters, needed: required, what: 'PARAMETER' });
  if (data['app'] !== accountApp) throw new Refused('INVALID_CREDENTIAL');
  const { callback } = data;
  if (callback === undefined) return;
  throw new Refused(/^https?:\/\/\S+$/.test(callback as string) ? 'UNVERIFIED_DOMAIN_CALLBACK' : 'INVALID_CALLBACK');
}

function checkAll(
  values: Json,
  { allowed, needed, what }: { allowed: Json; needed: readonly string[]; what: string },
): void {
  for (const name of needed) if (values[name] === undefined) throw new Refused(`MISSING_REQUIRED_${what}`, name);
  for (const [name, value] of Object.entries(values)) {
    const model = allowed[name];
    if (model === undefined) throw new Refused(`INVALID_${what}`, name);
    const isChoice = Array.isArray(model) && model !== items;
    const isRight =
      model === items
        ? Array.isArray(value) && value.every((each) => typeof each === 'string')
        : isChoice || typeof model === 'string'
          ? typeof value === 'string'
          : typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isRight) throw new Refused(`WRONG_TYPE_${what}`, name);
    const choices = Array.isArray(model) ? (model as readonly unknown[]) : undefined;
    if (choices && ![value].flat().every((each) => choices.includes(each)))
      throw new Refused(`WRONG_VALUE_${what}`, name);
  }
}

async function keepUpload(task: Task, file: unknown): Promise<Json> {
  if (!(file instanceof Blob)) throw new Refused('MISSING_REQUIRED_FIELD', 'file');
  const name = 'name' in file ? String(file.name) : '';
  const bytes = Buffer.from(await file.arrayBuffer());
  if (bytes.length === 0) throw new Refused('EMPTY_FILE');
  const extension = name.split('.').pop() ?? '';
  if (!formats.some((each) => each.extension === extension)) throw new Refused('NOT_VALID_EXTENSION', extension);
  task.file = { name, bytes };
  return { connector: task.id, name, size: bytes.length, expires_at: time(inADay()) };
}

function aboutFormats(path: string, parameters: Record<string, string>): Json {
  if (path === 'convert/graph') {
    const [input, output] = [find(parameters['input'] ?? '', 'INPUT_'), find(parameters['output'] ?? '', 'OUTPUT_')];
    return { is_match: partners(input, output), is_reversable: partners(output, input) };
  }
  const named = parameters['format'] === undefined ? undefined : find(parameters['format'], '');
  if (path === 'format/get') return named ? described(named) : {};
  const isInputs = parameters['sublist'] === 'inputs';
  const some = formats.filter((each) => {
    if (!(isInputs ? each.isInput : each.isOutput)) return false;
    return !named || (isInputs ? partners(each, named) : partners(named, each));
  });
  return { formats: some.map(described) };
}

function find(name: string, end: '' | 'INPUT_' | 'OUTPUT_'): Format {
  if (!/^[a-z0-9]+(-[a-z0-9]+)?$/.test(name)) throw new Refused(`WRONG_${end}FORMAT_STRUCTURE`, name);
  const found = formats.find(({ format }) => format === name);
  if (!found) throw new Refused(`INVALID_${end}FORMAT`, name);
  return found;
}

function described({ format, extension, type, name, title, categories }: Format): Json {
  return { format, extension, type, name, title, categories };
}

function time(date: Date): string {
  return date.toISOString().slice(0, 19).replace('T', ' ');
}

function inADay(): Date {
  return new Date(Date.now() + 86_400_000);
}
