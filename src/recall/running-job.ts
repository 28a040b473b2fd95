import type { Client } from '@temporalio/client';
import { sameContent, type Comparison } from '../batch/contents';
import { readRun } from '../history/job-history';
import type { ConversionJobInput } from '../job/types';
import type { FileStore } from '../storage/file-store';

export interface RunningJob {
  input: ConversionJobInput;
  /** The source has changed since its upload. Absent: it has not, or nothing tells. */
  isChanged?: true;
}

export async function readRunning(
  { client, files, signal }: { client: Client; files: FileStore; signal?: AbortSignal | undefined },
  run: { workflowId: string; runId: string },
): Promise<RunningJob> {
  const { input, charge } = await readRun(client, run);
  const uri = 'uri' in input.source ? input.source.uri : undefined;
  if (uri === undefined || !charge.source) return { input };
  // A client may lack its workers' credentials: a source that it can't see counts as unchanged.
  const isChanged = await hasOther(files, uri, { content: charge.source, signal }).catch(() => {
    signal?.throwIfAborted();
    return false;
  });
  return { input, ...(isChanged && { isChanged }) };
}

async function hasOther(files: FileStore, uri: string, comparison: Comparison): Promise<boolean> {
  if ((await files.look(uri)).kind !== 'file') return false;
  return (await sameContent(files, uri, comparison)) === undefined;
}
