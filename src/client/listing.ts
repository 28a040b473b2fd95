import type { Client } from '@temporalio/client';
import type { ConversionBatchInput } from '../shared/batch';
import { jobSummary, type ConversionJobInput } from '../shared/job';
import { attributesOf, searchAttributeNames, startingAttributes, type Grouping } from '../shared/search-attributes';
import { batchDetails, batchSummary, jobDetails } from '../shared/temporal-ui';
import { presentSearchAttributes } from './operations/search-attributes';

/** Time until missing search attributes are looked up again. */
const incompleteForMs = 60_000;

/** Which search attributes jobs may be started with, since the server rejects a workflow with an unknown one. */
export class Listing {
  private lookup: { names: Promise<ReadonlySet<string>>; validUntil: number } | undefined;

  constructor(private readonly client: Client) {}

  /**
   * Looked up once, and again after a minute while some are missing. If the server does not tell, all are assumed to be
   * registered.
   */
  settable(): Promise<ReadonlySet<string>> {
    if (!this.lookup || this.lookup.validUntil < Date.now()) {
      const lookup = { names: presentSearchAttributes(this.client), validUntil: Infinity };
      this.lookup = lookup;
      lookup.names.then(
        ({ size }) => {
          if (size < searchAttributeNames.length) lookup.validUntil = Date.now() + incompleteForMs;
        },
        () => (lookup.validUntil = 0),
      );
    }
    return this.lookup.names.catch(() => new Set(searchAttributeNames));
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
