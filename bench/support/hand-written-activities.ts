import { createWriteStream, openAsBlob } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type NamedBlob, post } from './requests';

/** The activities of `handWrittenConversion`: a request each, but for the download, which takes two. */

interface Answer<Output> {
  readonly entity: { readonly id: string };
  readonly result: { readonly output: Output };
}

interface Told {
  readonly entity: { readonly status: string };
  readonly result: { readonly output: { readonly status?: string } };
}

async function upload(baseUrl: string, source: string): Promise<string> {
  const file = { name: path.basename(source), data: await openAsBlob(source) };
  return (await ask(baseUrl, 'upload/file', {}, file)).result.output.connector;
}

async function submit(baseUrl: string, connector: string, output: string): Promise<string> {
  const parameters = { output };
  return (await ask(baseUrl, 'convert/file', { connector, parameters, mode: 'async' })).entity.id;
}

async function isDone(baseUrl: string, connector: string): Promise<boolean> {
  const parameters = { include: ['entity', 'result'] };
  const { entity, result } = (await ask<Told>(baseUrl, 'task/response', { connector, parameters })).result.output;
  if (entity.status !== 'completed') return false;
  if (result.output.status !== 'successful') throw new Error(`The conversion failed: ${JSON.stringify(result)}`);
  return true;
}

async function download(baseUrl: string, task: string, destination: string): Promise<void> {
  const { result } = await ask(baseUrl, 'download/url', { connector: task });
  const { body } = await succeed(baseUrl, 'download/url/get', { connector: result.output.connector });
  await mkdir(path.dirname(destination), { recursive: true });
  await pipeline(body, createWriteStream(destination));
}

async function ask<Output = { readonly connector: string }>(
  baseUrl: string,
  endpoint: string,
  data: object,
  file?: NamedBlob,
): Promise<Answer<Output>> {
  return (await (await succeed(baseUrl, endpoint, data, file)).body.json()) as Answer<Output>;
}

async function succeed(baseUrl: string, endpoint: string, data: object, file?: NamedBlob) {
  const answer = await post(baseUrl, endpoint, data, file);
  if (answer.statusCode === 200) return answer;
  throw new Error(`${endpoint}: HTTP ${answer.statusCode} ${await answer.body.text()}`);
}

export const handWrittenActivities = { upload, submit, isDone, download };
