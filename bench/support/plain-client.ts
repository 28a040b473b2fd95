import { setTimeout as sleep } from 'node:timers/promises';
import { connectorOf, type NamedBlob, post } from './requests';

const firstBackoffMs = 1_000;
const longestBackoffMs = 30_000;
const pollMs = 2_000;

/** What is usually written: one request after the other, and after a 429 again, with exponential backoff and jitter. */
export async function convertPlainly(baseUrl: string, source: NamedBlob, output: string): Promise<Buffer> {
  const ask = (task: string, data: object, file?: NamedBlob) => persist(() => post(baseUrl, task, data, file));
  const uploaded = connectorOf(String(await ask('upload/file', {}, source)));
  const submit = { connector: uploaded, parameters: { output }, mode: 'async', include: ['entity', 'result'] };
  const task = /"id":"([^"]+)"/.exec(String(await ask('convert/file', submit)))?.[1] ?? '';
  for (;;) {
    await sleep(pollMs);
    const poll = await ask('task/response', { connector: task, parameters: { include: ['entity', 'result'] } });
    if (!poll.includes('"status":"completed"')) continue;
    if (poll.includes('"status":"successful"')) break;
    throw new Error(`${source.name}: ${String(poll)}`);
  }
  const link = connectorOf(String(await ask('download/url', { connector: task })));
  return await ask('download/url/get', { connector: link });
}

async function persist(send: () => ReturnType<typeof post>): Promise<Buffer> {
  for (let attempt = 0; ; attempt += 1) {
    const { statusCode, body } = await send();
    const answer = Buffer.from(await body.arrayBuffer());
    if (statusCode === 200) return answer;
    if (statusCode !== 429) throw new Error(`HTTP ${statusCode} ${answer.toString()}`);
    await sleep(Math.min(longestBackoffMs, firstBackoffMs * 2 ** attempt) * (0.5 + Math.random() / 2));
  }
}
