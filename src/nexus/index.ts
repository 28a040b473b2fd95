/** The Nexus service `conversion` for workflows that call it from other namespaces; the worker's side is not here. */
import type { BatchRequest } from '../client/batch-request';
import type { OperationDefinition } from 'nexus-rpc';
import type { ConversionBatchResult } from '../shared/batch';
import type { ConversionJobInput, ConversionJobResult } from '../shared/job';

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

/** To call file conversion from a workflow: `createNexusServiceClient({ service: conversionService, endpoint })`. */
export const conversionService = {
  name: 'conversion',
  operations: {
    /** One job: its result, or its failure with code and details. */
    convert: operation<ConvertInput, ConversionJobResult>('convert'),
    /** A batch of sources, a manifest or inline items. */
    convertBatch: operation<ConvertBatchInput, ConversionBatchResult>('convertBatch'),
  },
};

/** What `nexus-rpc` makes of an operation; the types of input and result exist only for the compiler. */
function operation<Input, Output>(name: string): OperationDefinition<Input, Output> {
  return { name } as OperationDefinition<Input, Output>;
}
