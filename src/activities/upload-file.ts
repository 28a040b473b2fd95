import { createHash, type Hash } from 'node:crypto';
import { hostname } from 'node:os';
import { Context } from '@temporalio/activity';
import { sameContent } from '../batch/contents';
import type { ConversionApi } from '../http/conversion-api';
import { isProtected } from '../protection/protected-file';
import type { UploadFileInput, UploadFileResult } from '../job/activities';
import { defined } from '../job/defined';
import { lastSegment } from '../job/types';
import { peek } from '../storage/peek';
import { hasAny } from '../job/warnings';
import { isLocked, StorageError } from '../storage/errors';
import type { SourceFile } from '../storage/file-store';
import type { Stores } from '../storage/stores';
import { runAttempt, type ActivityAttempt, type ActivityDependencies } from './activity-attempt';
import { ownHost, planDestination } from './job-destination';
import { soonTaken } from './pauses';

/** Uploads the source to the service (`upload/file`). Idempotent: a second upload only costs a request. */
export function createUploadFile(dependencies: ActivityDependencies) {
  const { api, files, checks } = dependencies;
  return (input: UploadFileInput): Promise<UploadFileResult> =>
    runAttempt(dependencies, { step: 'upload', app: input.app, parking: input }, async (attempt) => {
      const resetRunId = attempt.resetSince(input.knownRunId);
      if (resetRunId !== undefined) return { skipped: true, resetRunId };
      const source = await openSource(files, input.uri, attempt);
      const host = input.destination === undefined ? undefined : ownHost(files, input.destination);
      // Before anything is charged: no conversion is started whose result can't be stored.
      if (await isThere(files, input, attempt)) return { skipped: true };
      await checks.assertPossible(input, attempt.signal);
      const before = await sentBefore(files, input, attempt);
      if (!before) await refuseProtected(files, source, attempt);
      const sent = before ?? (await send(api(input.app), source, attempt));
      return { skipped: false, ...sent, ...defined({ bytes: source.size, host }) };
    });
}

type Sent = Pick<Extract<UploadFileResult, { skipped: false }>, 'connector' | 'source' | 'warnings' | 'requests'>;

/** Another job's upload, if the file still has that content. */
async function sentBefore(
  files: Stores,
  { uri, upload }: UploadFileInput,
  { signal }: ActivityAttempt,
): Promise<Sent | undefined> {
  if (!upload) return undefined;
  const source = await sameContent(files, uri, { content: upload.source, signal });
  return source && { connector: upload.connector, source, requests: 0 };
}

/** The service can't open a password-protected file: it would accept the upload, and often charge, for nothing. */
async function refuseProtected(
  files: Stores,
  { uri, size, head: known = Buffer.of() }: SourceFile,
  { signal }: ActivityAttempt,
): Promise<void> {
  const readAt = async (start: number, length: number) => {
    if (start + length <= known.length) return known.subarray(start, start + length);
    const { head, close } = await peek(files.read(uri, { start, signal }), (seen) => seen.length >= length);
    await close();
    return head.subarray(0, length);
  };
  if (await isProtected({ size, readAt })) throw isLocked(uri);
}

async function send(service: ConversionApi, source: SourceFile, attempt: ActivityAttempt): Promise<Sent> {
  const { requests, heartbeat, signal, turn, failure } = attempt;
  const { name, size: bytes, stamp } = source;
  const hash = createHash('sha256');
  const { connector, warnings } = await service.uploadFile({
    file: { name, size: bytes, open: () => hashed(source.open(), hash) },
    signal,
    turn: {
      ...turn,
      beforeSend: () => {
        failure.requests = requests;
        return Promise.resolve();
      },
    },
    onProgress: (sentBytes) => heartbeat.update({ sentBytes, totalBytes: bytes }),
  });
  const content = defined({ bytes, sha256: hash.digest('hex'), stamp });
  return { connector, ...(hasAny(warnings) && { warnings }), requests, source: content };
}

/** Whether the result exists and is to stay. @throws if it could not be stored. */
async function isThere(files: Stores, input: UploadFileInput, { failure }: ActivityAttempt): Promise<boolean> {
  const { uri, destination } = input;
  if (destination === undefined) return false;
  const plan = await planDestination(files, { ...input, destination, sourceName: lastSegment(uri) }, failure);
  return plan.kind === 'skip';
}

/** Relies on the source being opened once per attempt, so that the hash covers it once. */
async function* hashed(body: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
}

interface Looks {
  /** The host of each attempt that looked, in order. */
  missingOn?: string[];
}

const looksAtMost = 8;
/** A value of `temporal.api.enums.v1.TaskQueueType`. */
const activityQueue = 2 as never;

/**
 * Opens the source of a job. A source missing on this host may exist on another host whose worker polls the task queue: it counts as
 * missing once all hosts have looked, or after `looksAtMost` attempts; with one host or shared files, at once.
 */
async function openSource(
  files: Stores,
  uri: string,
  { heartbeat, previousDetails, failure }: Pick<ActivityAttempt, 'heartbeat' | 'previousDetails' | 'failure'>,
): Promise<SourceFile> {
  try {
    return await files.openSource(uri);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'SOURCE_NOT_FOUND') throw error;
    // If all workers see the same files, the others would not find it either.
    if (files.of(uri).isPerHost !== true) throw error;
    const looks = [...((previousDetails as Looks).missingOn ?? []), hostname()];
    const looked = new Set(looks);
    const others = (await pollingHosts()).filter((host) => !looked.has(host));
    if (others.length === 0 && looked.size === 1) throw error;
    const isFinal = others.length === 0 || looks.length >= looksAtMost;
    if (!isFinal) {
      heartbeat.add({ missingOn: looks } satisfies Looks);
      failure.pauses = soonTaken(failure.pauses);
    }
    const elsewhere = others.length === 0 ? '' : ` Workers on ${others.join(', ')} have not looked.`;
    throw new StorageError({
      code: error.code,
      message: `${error.message} Workers on ${[...looked].join(', ')} have looked.${elsewhere}`,
      uri,
      retryable: !isFinal,
      cause: error,
    });
  }
}

/** Hosts of the workers on this task queue, from their identities; empty if this host is the only one. */
async function pollingHosts(): Promise<string[]> {
  const { client, info } = Context.current();
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: info.namespace,
    taskQueue: { name: info.taskQueue },
    taskQueueType: activityQueue,
  });
  const hosts = new Set(pollers.map(({ identity }) => (identity ?? '').replace(/^.*@/, '')));
  return hosts.size > 1 ? [...hosts] : [];
}
