/** The Nexus service `conversion` for workflows that call it from other namespaces; the worker's side is not here. */
import type { BatchRequest } from '../client/batch-request';
import type { OperationDefinition } from 'nexus-rpc';
import type { BatchState, ConversionBatchResult } from '../batch/model/state';
import type { ConversionJobInput, ConversionJobResult, ConversionJobState } from '../job/types';

/** Input of the operation `convert`: a job. Paths have no meaning between two programs: every file is a URI. */
export interface ConvertInput extends ConversionJobInput {
  /**
   * Names the job among the caller's own: one job for each app and key, however often it is called. Up to 200
   * characters; part of the workflow id, which is never encrypted.
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
  /** Key of a job that `convert` started. */
  key?: string;
  /** Id of any job or batch of the app. */
  workflowId?: string;
}

/** Result of the operation `state`: `job` or `batch`, by what the id belongs to. */
export interface ConversionStateOutput {
  workflowId: string;
  /** Whether it has not ended. */
  open: boolean;
  job?: ConversionJobState;
  batch?: BatchState;
}

/** Input of the operation `appReady`: one job by `key` or `workflowId`, or without both all of the app. */
export type AppReadyInput = StateInput;

/** Result of the operation `appReady`. */
export interface AppReadyOutput {
  /** How many jobs were told, or are being told. */
  jobs: number;
}

/** To call file conversion from a workflow: `createNexusServiceClient({ service: conversionService, endpoint })`. */
export const conversionService = {
  name: 'conversion',
  operations: {
    /** One job: its result, or its failure with code and details. */
    convert: operation<ConvertInput, ConversionJobResult>('convert'),
    /** A batch of sources, a manifest or inline items. */
    convertBatch: operation<ConvertBatchInput, ConversionBatchResult>('convertBatch'),
    /** What a job or a batch is doing now. */
    state: operation<StateInput, ConversionStateOutput>('state'),
    /** What parked jobs wait for is done, such as vCredits added: they try again at once. */
    appReady: operation<AppReadyInput, AppReadyOutput>('appReady'),
  },
};

/** What `nexus-rpc` makes of an operation; the types of input and result exist only for the compiler. */
function operation<Input, Output>(name: string): OperationDefinition<Input, Output> {
  return { name } as OperationDefinition<Input, Output>;
}
