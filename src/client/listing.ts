import type { Client } from '@temporalio/client';
import type { ConversionBatchInput } from '../batch/model/types';
import { jobSummary, type ConversionJobInput } from '../job/types';
import { attributesOf, startingAttributes, type Grouping } from '../job/search-attributes';
import { jobDetails } from '../job/temporal-ui';
import { batchDetails, batchSummary } from '../batch/model/details';
import { hasSearchAttributes } from './operations/search-attributes';

const knownForMs = 60_000;

/** Whether jobs may be started with search attributes: the server rejects a workflow with an unknown one. */
export class Listing {
  private lookup: { isListed: Promise<boolean>; validUntil: number } | undefined;

  constructor(private readonly client: Client) {}

  /** Cached for a minute. If the lookup fails, assumes that they exist, and looks again next time. */
  isListed(): Promise<boolean> {
    if (!this.lookup || this.lookup.validUntil < Date.now()) {
      const isListed = hasSearchAttributes(this.client).catch(() => {
        this.lookup = undefined;
        return true;
      });
      this.lookup = { isListed, validUntil: Date.now() + knownForMs };
    }
    return this.lookup.isListed;
  }
}

/** Search attributes of a job, and its texts in the Temporal UI. */
export function shownJob(input: ConversionJobInput, grouping?: Grouping) {
  const attributes = startingAttributes(input, grouping);
  return { attributes, staticSummary: jobSummary(input), staticDetails: jobDetails(input) };
}

export function shownBatch(input: ConversionBatchInput, grouping: Grouping) {
  const attributes = attributesOf(input.app, grouping);
  return { attributes, staticSummary: batchSummary(input), staticDetails: batchDetails(input) };
}
