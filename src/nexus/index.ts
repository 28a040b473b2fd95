/** The Nexus service `conversion`, for workflows that call it from other namespaces. Contains nothing of the worker's side. */
import type { BatchRequest } from '../client/batch-request';
import type { OperationDefinition } from 'nexus-rpc';
import type { BatchState, ConversionBatchResult } from '../batch/model/state';
import type { ConversionJobResult, ConversionJobState, JobRequest } from '../job/types';

/** Input of the operation `convert`: a job. Every file must be a URI, since the programs do not share a working directory. */
export interface ConvertInput extends JobRequest {
  /**
   * Identifies the job for the caller: one job for each app and key, however often it is called. Up to 200 characters; part of the
   * workflow id, which is never encrypted.
   */
  key: string;
}

/** Input of the operation `convertBatch`. */
export interface ConvertBatchInput extends BatchRequest {
  app: string;
}

/** Input of the operation `state`: an app, and either `key` or `workflowId`. */
export interface StateInput {
  app: string;
  /** Key of a job started by `convert`. */
  key?: string;
  /** Id of any job or batch of the app. */
  workflowId?: string;
}

/** Result of the operation `state`, with either `job` or `batch`. */
export interface ConversionStateOutput {
  workflowId: string;
  /** Whether the workflow has not ended. */
  open: boolean;
  job?: ConversionJobState;
  batch?: BatchState;
}

/** Input of the operation `appReady`: one job by `key` or `workflowId`, or by neither all jobs of the app. */
export type AppReadyInput = StateInput;

/** Result of the operation `appReady`. */
export interface AppReadyOutput {
  /** Number of jobs that were signalled or are being signalled. */
  jobs: number;
}

/** To call file conversion from a workflow: `createNexusServiceClient({ service: conversionService, endpoint })`. */
export const conversionService = {
  name: 'conversion',
  operations: {
    /** Runs one job: returns its result, or fails with its code and details. */
    convert: operation<ConvertInput, ConversionJobResult>('convert'),
    /** Runs a batch of sources, a manifest or inline items. */
    convertBatch: operation<ConvertBatchInput, ConversionBatchResult>('convertBatch'),
    /** Returns the current state of a job or batch. */
    state: operation<StateInput, ConversionStateOutput>('state'),
    /** Makes parked jobs try again at once, for example after vCredits were added. */
    appReady: operation<AppReadyInput, AppReadyOutput>('appReady'),
  },
};

/** Built like an operation of `nexus-rpc`; the types of input and result exist only for the compiler. */
function operation<Input, Output>(name: string): OperationDefinition<Input, Output> {
  return { name } as OperationDefinition<Input, Output>;
}
