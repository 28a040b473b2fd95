import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { entriesOf } from '../src/engines/archive';
import { engineNamesOfNpm } from '../src/engines/engine';
import { type ConversionService, type ConversionServiceOptions, type ServiceApp, startConversionService } from '../src';

/** A service on its own folder, and a client that uses only HTTP. */

const resultSchema = z.looseObject({
  output: z.looseObject({
    connector: z.string().optional(),
    status: z.string().optional(),
    duration: z.number().optional(),
    name: z.string().optional(),
    size: z.number().optional(),
    expires_at: z.string().optional(),
    url: z.string().optional(),
    formats: z.array(z.looseObject({ format: z.string(), name: z.string() })).optional(),
    entity: z.looseObject({ id: z.string(), status: z.string() }).optional(),
    payload: z.unknown().optional(),
    result: z.unknown().optional(),
  }),
  error: z.object({ code: z.string().optional(), message: z.string().optional() }),
  warning: z.record(z.string(), z.string()),
});

const bodySchema = z.strictObject({
  entity: z.looseObject({ id: z.string(), status: z.string() }).optional(),
  payload: z.unknown().optional(),
  result: resultSchema.optional(),
  /** Top-level fields of a refusal. */
  code: z.string().optional(),
  message: z.string().optional(),
});

interface Answer {
  status: number;
  headers: Headers;
  body: z.infer<typeof bodySchema>;
  output: z.infer<typeof resultSchema>['output'];
  error: { code?: string | undefined; message?: string | undefined };
  warning: Record<string, string>;
}

interface NamedFile {
  name: string;
  data: string | Uint8Array;
}

export interface TestApp {
  app: ServiceApp;
  token: string;
}

export function createApp(name = 'test'): TestApp {
  const token = `token-${randomUUID()}`;
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  return { app: { name, appId: randomUUID(), tokenSha256 }, token };
}

export class TestClient {
  readonly #url: string | (() => string);
  readonly app: ServiceApp;
  readonly token: string;

  constructor(url: string | (() => string), { app, token }: TestApp) {
    this.#url = url;
    this.app = app;
    this.token = token;
  }

  get url(): string {
    return typeof this.#url === 'string' ? this.#url : this.#url();
  }

  get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.token}` };
  }

  /** Posts with the app's token unless `init` has another one. */
  async send(endpoint: string, init: RequestInit): Promise<Response> {
    // Without keep-alive: a service in the same process may close an idle connection just as the client reuses it.
    const headers = new Headers({ ...this.headers, connection: 'close' });
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    return fetch(`${this.url}/v1/${endpoint}`, { method: 'POST', ...init, headers });
  }

  /** Posts a multipart form with the App ID filled in. */
  async post(endpoint: string, data: Record<string, unknown> = {}, file?: NamedFile): Promise<Answer> {
    const form = new FormData();
    form.set('data', JSON.stringify({ app: this.app.appId, ...data }));
    if (file) form.set('file', new Blob([toBytes(file.data)]), file.name);
    return parseAnswer(await this.send(endpoint, { body: form }));
  }

  /** Posts this text as the urlencoded field `data`. */
  async postField(endpoint: string, field: string): Promise<Answer> {
    return parseAnswer(await this.send(endpoint, { body: new URLSearchParams({ data: field }) }));
  }

  async upload(name: string, data: string | Uint8Array): Promise<string> {
    const { output, error } = await this.post('upload/file', {}, { name, data });
    if (output.connector === undefined) throw new Error(`The upload failed: ${JSON.stringify(error)}`);
    return output.connector;
  }

  /** Uploads, and converts in mode sync. */
  async convert(file: NamedFile, output: string, parameters: Record<string, unknown> = {}): Promise<Answer> {
    const connector = await this.upload(file.name, file.data);
    return this.post('convert/file', {
      connector,
      include: ['entity', 'result'],
      parameters: { output, ...parameters },
    });
  }

  /** Starts a conversion in mode async. @returns the id of its task. */
  async startConversion(connector: string, output: string, data: Record<string, unknown> = {}): Promise<string> {
    const asked = { connector, mode: 'async', include: ['entity'], parameters: { output }, ...data };
    return (await this.post('convert/file', asked)).body.entity?.id ?? '';
  }

  async download(connector: string): Promise<{ bytes: Buffer; headers: Headers; name: string | undefined }> {
    const { output, error } = await this.post('download/url', { connector });
    if (output.connector === undefined) throw new Error(`No download: ${JSON.stringify(error)}`);
    const form = new FormData();
    form.set('data', JSON.stringify({ app: this.app.appId, connector: output.connector }));
    const response = await this.send('download/url/get', { body: form });
    return { bytes: Buffer.from(await response.arrayBuffer()), headers: response.headers, name: output.name };
  }

  /** Converts and downloads. @throws the service's error if the conversion fails. */
  async convertToBytes(file: NamedFile, output: string, parameters: Record<string, unknown> = {}) {
    const converted = await this.convert(file, output, parameters);
    if (converted.output.connector === undefined) throw new Error(JSON.stringify(converted.error));
    return { ...(await this.download(converted.output.connector)), warning: converted.warning };
  }

  /** Polls task/response until the task is completed. */
  async waitForTask(connector: string, deadlineMs = 120_000) {
    const end = Date.now() + deadlineMs;
    while (Date.now() < end) {
      const { output } = await this.post('task/response', { connector });
      if (output.entity?.status === 'completed') {
        return { entity: output.entity, result: resultSchema.parse(output.result) };
      }
      await sleep(50);
    }
    throw new Error(`Task ${connector} is not completed after ${deadlineMs} ms.`);
  }
}

/** A request to write in pieces; its answer may arrive before its end. */
export function openRequest({ url, headers }: TestClient, endpoint: string, options: http.RequestOptions = {}) {
  const form = { 'content-type': 'multipart/form-data; boundary=b' };
  const all = { ...headers, ...form, ...(options.headers as http.OutgoingHttpHeaders) };
  const request = http.request(`${url}/v1/${endpoint}`, { method: 'POST', ...options, headers: all });
  const answer = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    request.on('error', reject);
    request.once('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    });
  });
  answer.catch(() => undefined);
  return { request, answer };
}

/** The form of an upload with the boundary b, up to the bytes of the file. */
export function uploadHead({ app }: TestClient, fileName = 'a.png', data = JSON.stringify({ app: app.appId })): string {
  const part = '--b\r\ncontent-disposition: form-data; name=';
  return `${part}"data"\r\n\r\n${data}\r\n${part}"file"; filename="${fileName}"\r\n\r\n`;
}

export async function parseAnswer(response: Response): Promise<Answer> {
  const body = bodySchema.parse(await response.json());
  const result = resultSchema.safeParse(body.result).data;
  return {
    status: response.status,
    headers: response.headers,
    body,
    output: result?.output ?? {},
    error: result?.error ?? {},
    warning: result?.warning ?? {},
  };
}

export const createDataDir = async (): Promise<string> => mkdtemp(path.join(tmpdir(), 'fileconv-service-'));

/** Starts a service on a new folder unless options name one; `stop` closes it and removes the folder. */
export async function startTestService(
  options: Partial<ConversionServiceOptions> = {},
  testApp: TestApp = createApp(),
): Promise<{
  service: ConversionService;
  client: TestClient;
  dataDir: string;
  logged: string[];
  stop: () => Promise<void>;
}> {
  const dataDir = options.dataDir ?? (await createDataDir());
  const logged: string[] = [];
  const service = await startConversionService({
    apps: [testApp.app],
    // No programs of the machine, unless a test names them.
    engines: engineNamesOfNpm,
    // Like the default log level.
    log: (line, { level } = {}) => {
      if (level !== 'debug') logged.push(line);
    },
    ...options,
    dataDir,
  });
  const stop = async (): Promise<void> => {
    await service.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { service, client: new TestClient(service.url, testApp), dataDir, logged, stop };
}

/** One service for all tests of the calling file or `describe`; it runs in tests and in later hooks. */
export function serviceOfAllTests(options: Partial<ConversionServiceOptions> = {}, testApp: TestApp = createApp()) {
  let running: Awaited<ReturnType<typeof startTestService>> | undefined;
  const started = () => {
    if (!running) throw new Error('The service does not run yet.');
    return running;
  };
  beforeAll(async () => (running = await startTestService(options, testApp)));
  afterAll(() => running?.stop());
  return {
    client: new TestClient(() => started().service.url, testApp),
    get service() {
      return started().service;
    },
    get dataDir() {
      return started().dataDir;
    },
    get logged() {
      return started().logged;
    },
  };
}

export function toBytes(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data);
}

/** One red pixel. */
export const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const tinySvg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="#00f"/></svg>`;

/** Markdown that takes an engine seconds to convert. */
export function longMarkdown(kilobytes: number): string {
  const paragraph = 'Some *emphasis*, `code`, [a link](http://example.com) and plain words after that.\n\n';
  return paragraph.repeat(Math.ceil((kilobytes * 1024) / paragraph.length));
}

export const listZip = (bytes: Buffer): string[] => entriesOf(bytes).map(({ name }) => name);
