import type { Client } from '@temporalio/client';
import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import {
  JobRunningError,
  type FileConversionClient,
} from 'temporal-file-conversion/internal/client/file-conversion-client';
import { toJobInput, type ConversionRequest } from 'temporal-file-conversion/internal/client/job-request';
import { hidesPayloads } from 'temporal-file-conversion/internal/encryption/data-converter';
import { findWorkflow } from 'temporal-file-conversion/internal/history/find-workflow';
import { jobIdOf } from 'temporal-file-conversion/internal/shared/job-id';
import { isOpen } from 'temporal-file-conversion/internal/shared/job-outcome';
import type { FileStore } from 'temporal-file-conversion/internal/storage/file-store';

export { JobRunningError as EarlierJobError };

export interface FileRequest extends ConversionRequest {
  source: string;
}

export interface StartedJob {
  handle: ConversionHandle;
  joined: boolean;
}

interface Starting {
  files: FileStore;
  temporal: Client;
  conversions: FileConversionClient;
  app: string;
  tags: readonly string[];
  again?: boolean;
  resubmit?: boolean;
}

/** Starts the job of a request, or joins the one that runs. @throws JobRunningError, InvalidRequestError */
export async function startOrJoin(
  { conversions, tags, again = false, resubmit = false }: Starting,
  request: FileRequest,
): Promise<StartedJob> {
  const handle = await conversions.start(request, { tags, again, resubmit });
  return { handle, joined: handle.isAttached };
}

/** Whether the job of a request runs: one that `startOrJoin` would join. */
export async function isUnderWay({ temporal, app }: Starting, request: FileRequest): Promise<boolean> {
  const { source, destination = '' } = toJobInput(request, app);
  const isHidden = hidesPayloads(temporal.options.loadedDataConverter);
  const found = await findWorkflow(temporal, jobIdOf({ source, destination }, { isHidden }));
  return found !== undefined && isOpen(found);
}
