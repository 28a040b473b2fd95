import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import type { UploadFileInput, UploadFileResult } from '../shared/activities';
import { lastSegment } from '../shared/job';
import { hasAny } from '../shared/warnings';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { planDestination } from './job-destination';
import { openSource } from './seen-source';
import { assertShared, leaveMarker, removeMarker } from './shared-folder';

/** Uploads the source to the service (`upload/file`). Idempotent: a second upload only costs a request. */
export function createUploadFile({ api, files, metrics, slots }: ActivityDependencies) {
  return (input: UploadFileInput): Promise<UploadFileResult> =>
    runAttempt({ step: 'upload', app: input.app, metrics, slots }, async (attempt) => {
      const { requests, heartbeat, signal, turn, failure } = attempt;
      const source = await openSource(files, input.uri, attempt);
      const { destination } = input;
      if (destination !== undefined) {
        // Before anything is spent: a conversion whose result can't be stored is not started.
        const place = { ...input, destination, sourceName: lastSegment(input.uri) };
        await assertShared(files, place, attempt);
        const plan = await planDestination(files, place);
        if (plan.kind === 'skip') {
          await removeMarker(files, place, attempt);
          return { skipped: true };
        }
      }
      const hash = input.describeSource ? createHash('sha256') : undefined;
      const service = await api(input.app);
      const receipt = await service.uploadFile({
        file: {
          name: source.name,
          size: source.size,
          open: () => (hash ? hashed(source.open(), hash) : source.open()),
        },
        signal,
        turn: {
          ...turn,
          beforeSend: () => {
            failure.requests = requests;
            return Promise.resolve();
          },
        },
        onProgress: (sentBytes) => heartbeat.update({ sentBytes, totalBytes: source.size }),
      });
      const { connector, warnings } = receipt;
      const { size: bytes, stamp } = source;
      // The last step, so that a failed attempt leaves no marker.
      const marker = destination === undefined ? undefined : await leaveMarker(files, destination, attempt);
      const uploaded = {
        skipped: false as const,
        connector,
        bytes,
        ...(marker && { marker }),
        ...(hasAny(warnings) && { warnings }),
        requests,
      };
      if (!hash) return uploaded;
      return {
        ...uploaded,
        source: { bytes, sha256: hash.digest('hex'), ...(stamp !== undefined && { stamp }) },
      };
    });
}

/** The source is opened once per attempt, so each hash sees the file once. */
async function* hashed(body: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
}
