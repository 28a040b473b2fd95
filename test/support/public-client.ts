import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A client that behaves like the public clients of such a service, as far as they are known. It fails where one of them would fail for a
 * missing key. None of them reads the rate-limit headers or the status `hold`.
 */

export const clientNames = ['javascript', 'python 2', 'python 1', 'php'] as const;
export type ClientName = (typeof clientNames)[number];

interface Habits {
  /** The form of every call except the upload. */
  readonly form: 'multipart' | 'urlencoded';
  /** Whether an answer with this content type is searched for errors at all. */
  readonly looksInto: (contentType: string) => boolean;
  /** Where it looks for an error in an answer. */
  readonly errorPlaces: readonly string[][];
  /** Reads `entity.vcredits` at every poll, not only at the last. */
  readonly alwaysReadsCredits: boolean;
}

const everywhere = [[], ['error'], ['result', 'error'], ['result', 'output', 'result', 'error']];

const habits: Readonly<Record<ClientName, Habits>> = {
  javascript: {
    form: 'multipart',
    looksInto: (type) => type.includes('application/json'),
    errorPlaces: everywhere,
    alwaysReadsCredits: false,
  },
  'python 2': {
    form: 'urlencoded',
    looksInto: (type) => type === 'application/json',
    errorPlaces: everywhere,
    alwaysReadsCredits: false,
  },
  'python 1': { form: 'urlencoded', looksInto: () => true, errorPlaces: [], alwaysReadsCredits: true },
  php: { form: 'multipart', looksInto: () => true, errorPlaces: [[], ['result', 'error']], alwaysReadsCredits: false },
};

/** A refusal that the client has understood. */
class ServiceSaidNo extends Error {
  override readonly name = 'ServiceSaidNo';
  constructor(readonly code: string) {
    super(code);
  }
}

export interface ClientSettings {
  url: string;
  app: string;
  token: string;
}

export interface ClientResult {
  bytes: Buffer;
  name: unknown;
  vcredits: unknown;
  polls: number;
  warnings: Record<string, unknown>;
}

export class PublicClient {
  readonly #name: ClientName;
  readonly #settings: ClientSettings;

  constructor(name: ClientName, settings: ClientSettings) {
    this.#name = name;
    this.#settings = settings;
  }

  /** Uploads, converts in mode async, polls and downloads. */
  async convert(file: { name: string; data: string | Uint8Array }, output: string): Promise<ClientResult> {
    const upload = await this.#call('upload/file', {}, file);
    const accepted = await this.#call('convert/file', {
      connector: need(upload, 'result', 'output', 'connector'),
      include: ['result', 'entity'],
      mode: 'async',
      parameters: { output },
    });
    if (need(accepted, 'entity', 'status') !== 'running') throw new Error('the status of the entity is not running');
    const connector = need(accepted, 'entity', 'id');
    const { vcredits, polls, warnings } = await this.#wait(connector);
    const link = await this.#call('download/url', { connector });
    const bytes = await this.#download(need(link, 'result', 'output', 'connector'));
    return { bytes, name: need(link, 'result', 'output', 'name'), vcredits, polls, warnings };
  }

  async #wait(connector: unknown): Promise<Pick<ClientResult, 'vcredits' | 'polls' | 'warnings'>> {
    for (let polls = 1; polls < 1_000; polls += 1) {
      const answer = await this.#call('task/response', { connector, include: ['result'] });
      const entity = need(answer, 'result', 'output', 'entity');
      if (habits[this.#name].alwaysReadsCredits) need(entity, 'vcredits');
      const result = need(answer, 'result', 'output', 'result');
      const outcome = this.#isThere(result) ? need(result, 'output', 'status') : undefined;
      const vcredits = this.#isThere(result) ? need(entity, 'vcredits') : undefined;
      if (need(entity, 'status') === 'completed') {
        if (outcome !== 'successful') throw new ServiceSaidNo(`the conversion is ${String(outcome)}`);
        return { vcredits, polls, warnings: need(result, 'warning') as Record<string, unknown> };
      }
      await sleep(20);
    }
    throw new Error('the task is never completed');
  }

  /** An empty object is truthy in JavaScript and falsy in the other languages. */
  #isThere(value: unknown): boolean {
    const isObject = typeof value === 'object' && value !== null;
    return isObject && (this.#name === 'javascript' || Object.keys(value).length > 0);
  }

  async #download(connector: unknown): Promise<Buffer> {
    const response = await this.#send('download/url/get', { connector });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.status >= 400) throw new ServiceSaidNo(`HTTP ${response.status}`);
    const type = response.headers.get('content-type') ?? '';
    // The newer clients mistake a file of this type for an answer.
    if (this.#name === 'javascript' && habits.javascript.looksInto(type)) throw new Error('there is nothing to write');
    if (this.#name === 'python 2' && habits['python 2'].looksInto(type)) this.#raise(JSON.parse(bytes.toString()));
    return bytes;
  }

  async #call(path: string, data: Record<string, unknown>, file?: { name: string; data: string | Uint8Array }) {
    const response = await this.#send(path, data, file);
    const answer: unknown = await response.json();
    if (this.#name === 'python 1') readAsFirstVersion(response.status, answer);
    else if (habits[this.#name].looksInto(response.headers.get('content-type') ?? '')) this.#raise(answer);
    return answer;
  }

  #raise(answer: unknown): void {
    for (const place of habits[this.#name].errorPlaces) {
      const error = place.reduce<unknown>((holder, key) => valueOf(holder, key), answer);
      const code = valueOf(error, 'code');
      if (typeof code === 'string') throw new ServiceSaidNo(code);
    }
  }

  #send(path: string, data: Record<string, unknown>, file?: { name: string; data: string | Uint8Array }) {
    const { url, app, token } = this.#settings;
    const form = new FormData();
    form.set('data', JSON.stringify({ app, ...data }));
    if (file) form.set('file', new Blob([file.data]), file.name);
    const isText = habits[this.#name].form === 'urlencoded' && !file;
    return fetch(`${url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: isText ? new URLSearchParams({ data: JSON.stringify({ app, ...data }) }) : form,
    });
  }
}

/** Reads only the top level at 4xx and 5xx, otherwise the result, whose keys must exist. */
function readAsFirstVersion(status: number, answer: unknown): void {
  if (status >= 400) {
    need(answer, 'message');
    throw new ServiceSaidNo(String(need(answer, 'code')));
  }
  need(answer, 'result', 'warning');
  const code = valueOf(need(answer, 'result', 'error'), 'code');
  if (typeof code === 'string') throw new ServiceSaidNo(code);
}

function valueOf(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? (holder as Record<string, unknown>)[key] : undefined;
}

/** The value at this path. Fails like the client if a key is missing. */
function need(holder: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((value, key) => {
    const found = valueOf(value, key);
    if (found === undefined) throw new TypeError(`cannot read ${path.join('.')}: there is no ${key}`);
    return found;
  }, holder);
}
