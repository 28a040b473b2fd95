import type { Client } from '@temporalio/client';
import { searchAttributeNames } from '../shared/search-attributes';
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
