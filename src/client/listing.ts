import type { Client } from '@temporalio/client';
import type { ConversionBatchInput } from '../shared/batch';
import { jobSummary, type ConversionJobInput } from '../shared/job';
import { attributesOf, startingAttributes, type Grouping } from '../shared/search-attributes';
import { batchDetails, batchSummary, jobDetails } from '../shared/temporal-ui';
import { hasSearchAttributes } from './operations/search-attributes';

/** Time until missing search attributes are looked up again. */
const missingForMs = 60_000;

/** Whether jobs may be started with search attributes: the server rejects a workflow with an unknown one. */
export class Listing {
  private lookup: { isListed: Promise<boolean>; validUntil: number } | undefined;

  constructor(private readonly client: Client) {}

  /** Looked up once, and again after a minute while some are missing. If the server does not tell, all are assumed to be there. */
  isListed(): Promise<boolean> {
    if (!this.lookup || this.lookup.validUntil < Date.now()) {
      const lookup = { isListed: hasSearchAttributes(this.client), validUntil: Infinity };
      this.lookup = lookup;
      lookup.isListed.then(
        (isListed) => {
          if (!isListed) lookup.validUntil = Date.now() + missingForMs;
        },
        () => (lookup.validUntil = 0),
      );
    }
    return this.lookup.isListed.catch(() => true);
  }
}

/** What a job is listed by, and named in the Temporal UI. */
export function shownJob(input: ConversionJobInput, grouping?: Grouping) {
  const attributes = startingAttributes(input, grouping);
  return { attributes, staticSummary: jobSummary(input), staticDetails: jobDetails(input) };
}

export function shownBatch(input: ConversionBatchInput, grouping: Grouping) {
  const attributes = attributesOf(input.app, grouping);
  return { attributes, staticSummary: batchSummary(input), staticDetails: batchDetails(input) };
}
