import type { FindingCode, FindingList } from './findings';

const maxTold = 5;

/** A plan has problems, so there is no run. The code is that of the first; the message tells the first few of them. */
export class RefusedPlanError extends Error {
  override readonly name = 'RefusedPlanError';
  readonly code: FindingCode;

  constructor({ count, listed }: FindingList) {
    const told = listed.slice(0, maxTold).map(({ message }) => message);
    super([...told, ...(count > told.length ? [`and ${count - told.length} more.`] : [])].join('\n'));
    this.code = listed[0]?.code ?? 'SOURCE_UNUSABLE';
  }
}
