import { randomUUID } from 'node:crypto';
import type { ConversionRig } from './conversion-worker';
import { answerCompleted, answerError, answerOutput, answerRunning, cut, type SeenRequest } from './stub-service';

/**
 * What becomes of a conversion. `bad`: its result fails the check. `cutRan` and `cutNot`: the connection is cut instead of an answer,
 * and the conversion runs, or does not.
 */
export type Fate = 'ok' | 'bad' | 'cutRan' | 'cutNot' | 'refused' | 'fails';

export interface PlayedTask {
  id: string;
  fate: Fate;
  /** Temporal knows its id. */
  isKnown: boolean;
  /** The service has forgotten it. */
  isGone: boolean;
}

/** Decides for the service, and learns all that it sees. */
export interface Player<Upload, Task extends PlayedTask> {
  upload(body: string): Upload;
  submit(upload: Upload, parameters: { dpi?: number; output: string }): Task;
  /** Before the answer of each endpoint, but for refusals. */
  passing(endpoint: PlayedEndpoint, of: { upload: Upload } | { task: Task }): Promise<void>;
  forgets(task: Task): boolean;
  failed(task: Task): void;
  resultOf(task: Task): string;
}

export const playedEndpoints = [
  'upload/file',
  'convert/file',
  'task/response',
  'download/url',
  'download/url/get',
] as const;
export type PlayedEndpoint = (typeof playedEndpoints)[number];

export function playService<Upload, Task extends PlayedTask>(
  { stub }: ConversionRig,
  player: Player<Upload, Task>,
): void {
  const uploads = new Map<string, Upload>();
  /** By their ids and the connectors of their downloads. */
  const tasks = new Map<string, Task>();
  stub.on('upload/file', async (seen, response) => {
    const upload = player.upload(seen.body.toString('latin1'));
    await player.passing('upload/file', { upload });
    const connector = randomUUID();
    uploads.set(connector, upload);
    answerOutput(response, { connector, size: 1 });
  });
  stub.on('convert/file', async (seen, response) => {
    const task = player.submit(found(uploads, seen), seen.data['parameters'] as { dpi?: number; output: string });
    tasks.set(task.id, task);
    await player.passing('convert/file', { task });
    if (task.fate === 'refused') answerError(response, 400, 'INVALID_PARAMETER');
    else if (task.fate.startsWith('cut')) cut(response);
    else answerRunning(response, task.id);
  });
  stub.on('task/response', async (seen, response) => {
    const task = found(tasks, seen);
    task.isKnown = true;
    await player.passing('task/response', { task });
    task.isGone ||= player.forgets(task);
    if (task.isGone) answerError(response, 404, 'NO_CONNECTOR_DEPENDENT_TASK');
    else if (task.fate === 'fails') {
      player.failed(task);
      answerCompleted(response, task.id, { error: { code: 'FAILED_CONVERT', message: 'no.' } });
    } else answerCompleted(response, task.id);
  });
  stub.on('download/url', async (seen, response) => {
    const task = found(tasks, seen);
    await player.passing('download/url', { task });
    const connector = randomUUID();
    tasks.set(connector, task);
    const size = player.resultOf(task).length;
    answerOutput(response, { connector, name: 'result', size, url: '/v1/download/url/get' });
  });
  stub.on('download/url/get', async (seen, response) => {
    const task = found(tasks, seen);
    await player.passing('download/url/get', { task });
    const result = player.resultOf(task);
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': result.length });
    response.end(result);
  });
}

function found<Value>(map: Map<string, Value>, { connector }: SeenRequest): Value {
  const value = map.get(connector);
  if (value === undefined) throw new Error(`there is no ${connector}`);
  return value;
}
