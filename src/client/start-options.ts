import type { Priority, SearchAttributePair, VersioningOverride } from '@temporalio/common';
import { z } from 'zod';
import { defined } from '../job/defined';
import { conversionJobType } from '../job/names';
import { searchAttributes, storable } from '../job/search-attributes';
import { isTag, maxTags } from '../job/tags';
import type { Duration } from '../job/policies';
import { wellFormed } from '../messages/wording';
import { checkRequest, durationSchema, idText, InvalidRequestError } from './job-request';

/** Options for starting a batch. Its jobs inherit tags and fairness. */
export interface BatchStartOptions extends WorkflowStart {
  /** If the batch is running: `fail` refuses the start, `attach` returns its handle. Default: `fail`. */
  onRunning?: 'fail' | 'attach';
}

interface WorkflowStart {
  /** Default: none. */
  startDelay?: Duration;
  versioningOverride?: VersioningOverride;
  /**
   * Tags by which jobs can be listed (`fileconv job list --tag`): at most 20, of 1 to 100 characters, without double quotes and
   * backslashes. Unencrypted. The namespace needs the search attribute `ConversionTags`. Default: none.
   */
  tags?: readonly string[];
  /** Default: `{ fairnessKey: app }`; for jobs of a batch also `priorityKey: 4`, below the 3 of other jobs. */
  priority?: Priority;
}

/** Options for starting a job. */
export interface StartOptions extends WorkflowStart {
  /** Default: derived from the destination; without one, a new id. Names are left out if the client encrypts payloads. */
  workflowId?: string;
  /** The batch under which the job is listed. */
  batchId?: string;
}

const shape = {
  startDelay: durationSchema.optional(),
  // Validated by Temporal.
  versioningOverride: z.unknown().optional(),
  tags: z
    .array(z.string().refine(isTag, 'must be 1 to 100 characters, without double quotes and backslashes'))
    .max(maxTags)
    .optional(),
  priority: z
    .strictObject({
      priorityKey: z.int().min(1).max(5).optional(),
      fairnessKey: z.string().refine(isFairnessKey, 'must be at most 64 bytes of well-formed text').optional(),
      fairnessWeight: z.number().min(0.001).max(1_000).optional(),
    })
    .optional(),
};

/** Strict: a misspelled name such as `workflowID` would start a second job beside the intended one. */
const jobSchema = z.strictObject({
  ...shape,
  workflowId: idText.max(1_000).optional(),
  batchId: z.string().optional(),
  resubmit: z.boolean().optional(),
  again: z.boolean().optional(),
});
/** A batch takes `resubmit` and `again` in its request: here they would do nothing. */
const batchSchema = z.strictObject({ ...shape, onRunning: z.enum(['fail', 'attach']).optional() });

/**
 * Converts start options to those of Temporal's client.
 * @throws InvalidRequestError, also for tags in a namespace without their search attribute.
 */
export function toWorkflowOptions(
  options: StartOptions & BatchStartOptions,
  {
    type,
    app,
    attributes,
    isListed,
  }: { type: string; app: string; attributes: readonly SearchAttributePair[]; isListed: boolean },
) {
  checkRequest(type === conversionJobType ? jobSchema : batchSchema, options, "These start options can't be used.");
  const { onRunning, tags = [], priority, startDelay, versioningOverride } = options;
  if (tags.length > 0 && !isListed) {
    const problem = `tags: the namespace lacks search attributes, of which this needs ${searchAttributes.tags.name}. Register them: fileconv namespace init`;
    throw new InvalidRequestError(`These start options can't be used. ${problem}`);
  }
  return {
    ...defined({ startDelay, versioningOverride }),
    ...(onRunning === 'attach' && { workflowIdConflictPolicy: 'USE_EXISTING' as const }),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    priority: { ...(isFairnessKey(app) && { fairnessKey: app }), ...priority },
    ...(isListed && { typedSearchAttributes: storable(attributes) }),
  };
}

function isFairnessKey(key: string): boolean {
  return Buffer.byteLength(key) <= 64 && wellFormed(key) === key;
}
