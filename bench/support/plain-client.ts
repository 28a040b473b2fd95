import { setTimeout as sleep } from 'node:timers/promises';
import { FormData, request } from 'undici';
import { app } from './service-processes';

const firstBackoffMs = 1_000;
const longestBackoffMs = 30_000;
const pollMs = 2_000;

export interface NamedFile {
  readonly name: string;
  readonly data: string | Buffer;
}

/** What is usually written: one request after the other, and after a 429 again, with exponential backoff and jitter. */
export async function convertPlainly(baseUrl: string, source: NamedFile, output: string): Promise<Buffer> {
  const ask = (task: string, data: Record<string, unknown>, file?: NamedFile) => post(baseUrl, { task, data, file });
  const uploaded = connectorOf(await ask('upload/file', {}, source));
  const submit = { connector: uploaded, parameters: { output }, mode: 'async', include: ['entity', 'result'] };
  const task = /"id":"([^"]+)"/.exec(String(await ask('convert/file', submit)))?.[1] ?? '';
  for (;;) {
    await sleep(pollMs);
    const poll = await ask('task/response', { connector: task, parameters: { include: ['entity', 'result'] } });
    if (!poll.includes('"status":"completed"')) continue;
    if (poll.includes('"status":"successful"')) break;
    throw new Error(`${source.name}: ${String(poll)}`);
  }
  const link = connectorOf(await ask('download/url', { connector: task }));
  return await ask('download/url/get', { connector: link });
}

async function post(
  baseUrl: string,
  { task, data, file }: { task: string; data: Record<string, unknown>; file: NamedFile | undefined },
): Promise<Buffer> {
  for (let attempt = 0; ; attempt += 1) {
    const form = new FormData();
    form.set('data', JSON.stringify({ app: app.appId, ...data }));
    if (file !== undefined) form.set('file', new Blob([file.data]), file.name);
    const { statusCode, body } = await request(`${baseUrl}/v1/${task}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.token}` },
      body: form,
    });
    const answer = Buffer.from(await body.arrayBuffer());
    if (statusCode === 200) return answer;
    if (statusCode !== 429) throw new Error(`${task}: HTTP ${statusCode} ${answer.toString()}`);
    await sleep(Math.min(longestBackoffMs, firstBackoffMs * 2 ** attempt) * (0.5 + Math.random() / 2));
  }
}

function connectorOf(answer: Buffer): string {
  const connector = /"connector":"([^"]+)"/.exec(answer.toString())?.[1];
  if (connector === undefined) throw new Error(`No connector in ${answer.toString()}`);
  return connector;
}
