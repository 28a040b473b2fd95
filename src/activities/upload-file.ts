import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import type { UploadFileInput, UploadFileResult } from '../shared/activities';
import { lastSegment } from '../shared/job';
import { hasAny } from '../shared/warnings';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { planDestination } from './job-destination';

/** Stores the source at the service (`upload/file`). Repeat-safe: a second upload costs a request and nothing else. */
export function createUploadFile({ api, files, metrics, slots }: ActivityDependencies) {
  return (input: UploadFileInput): Promise<UploadFileResult> =>
    runAttempt(
      { step: 'upload', app: input.app, metrics, slots },
      async ({ requests, heartbeat, signal, turn, failure }) => {
        const source = await files.openSource(input.uri);
        if (input.destination !== undefined) {
          // Before anything is spent: a conversion whose result has no place to go is not begun.
          const { destination } = input;
          const plan = await planDestination(files, { ...input, destination, sourceName: lastSegment(input.uri) });
          if (plan.kind === 'skip') return { skipped: true };
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
        const uploaded = { skipped: false as const, connector, bytes, ...(hasAny(warnings) && { warnings }), requests };
        if (!hash) return uploaded;
        return {
          ...uploaded,
          source: { bytes, sha256: hash.digest('hex'), ...(stamp !== undefined && { stamp }) },
        };
      },
    );
}

/** Opened once an attempt, so one hash sees the file once. */
async function* hashed(body: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
}
