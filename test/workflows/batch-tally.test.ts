import { noTotals } from '../../src/batch/model/state';
import { BatchAttention, BatchTally } from '../../src/workflows/batch/batch-tally';

/** When a batch has too many failures to start more jobs. */

function tallyOf({ succeeded = 0, failed = 0 }: { succeeded?: number; failed?: number }): BatchTally {
  const tally = new BatchTally();
  for (let item = 1; item <= succeeded; item += 1) tally.add({ item, status: 'succeeded' });
  for (let item = 1; item <= failed; item += 1) tally.add({ item, status: 'failed', code: 'SOURCE_NOT_FOUND' });
  return tally;
}

it('reaches a number of failures however many items have succeeded', () => {
  expect(tallyOf({ succeeded: 100, failed: 2 }).exceeds({ failures: 3 })).toBe(false);
  expect(tallyOf({ succeeded: 100, failed: 3 }).exceeds({ failures: 3 })).toBe(true);
});

it('does not judge a share of failures by the first few items', () => {
  expect(tallyOf({ failed: 19 }).exceeds({ percent: 50 })).toBe(false);
  expect(tallyOf({ succeeded: 9, failed: 10 }).exceeds({ percent: 50 })).toBe(false);
  expect(tallyOf({ succeeded: 10, failed: 10 }).exceeds({ percent: 50 })).toBe(true);
  expect(tallyOf({ succeeded: 11, failed: 10 }).exceeds({ percent: 50 })).toBe(false);
});

it('does not count items that were not tried', () => {
  const tally = new BatchTally({ totals: { ...noTotals(), succeeded: 20, failed: 60, kept: 30, refused: 30 } });
  expect(tally.exceeds({ failures: 1, percent: 1 })).toBe(false);
});

it('never stops a batch without a limit', () => expect(tallyOf({ failed: 1_000 }).exceeds(undefined)).toBe(false));

it('counts a possible charge once over all runs, at the price of the dearest conversion so far, or at 1 vCredit while no price is known', () => {
  const tally = new BatchTally(new BatchTally().carry());
  const isSpent = (maxVcredits: number) => tally.isSpent({ maxVcredits }, 10);
  tally.add({ status: 'failed', charge: 'maybe' });
  expect([isSpent(10 + 1), isSpent(10 + 1.1)]).toEqual([true, false]);
  tally.add({ status: 'succeeded', charge: 'yes', vcredits: 2 });
  tally.add({ status: 'succeeded', charge: 'yes', vcredits: 3, possiblyChargedExtra: 2 });
  expect([isSpent(10 + 5 + 9), isSpent(10 + 5 + 9.1)]).toEqual([true, false]);
  const earlier = { charge: 'maybe', possiblyChargedExtra: 1 } as const;
  tally.add({ status: 'succeeded', charge: 'yes', vcredits: 1, possiblyChargedExtra: 2 }, earlier);
  tally.add({ status: 'failed', ...earlier }, earlier);
  expect([isSpent(10 + 6 + 9), isSpent(10 + 6 + 9.1)]).toEqual([true, false]);
});

describe('a batch whose jobs wait for a person', () => {
  const refused = { code: 'INVALID_CREDENTIAL', message: 'The token is refused.' };

  it('announces it once for all of them, also after continuing as new', () => {
    const attention = new BatchAttention();
    for (const item of [1, 2, 3]) attention.waits(item, refused);
    expect(attention.takeUnannounced()).toMatchObject({ ...refused, jobs: 3 });
    attention.waits(4, refused);
    attention.over(1);
    expect(attention.takeUnannounced()).toBeUndefined();
    expect(new BatchAttention(attention.carry()).takeUnannounced()).toBeUndefined();
  });

  it('announces it again when they wait for something else, or start to wait again', () => {
    const attention = new BatchAttention();
    const codes = ['INVALID_CREDENTIAL', 'INSUFFICIENT_VCREDITS'].map((code) => {
      attention.waits(1, { ...refused, code });
      return attention.takeUnannounced()?.code;
    });
    attention.over(1);
    codes.push(attention.takeUnannounced()?.code ?? 'nobody waits');
    attention.waits(1, refused);
    codes.push(attention.takeUnannounced()?.code ?? '');
    expect(codes).toEqual(['INVALID_CREDENTIAL', 'INSUFFICIENT_VCREDITS', 'nobody waits', 'INVALID_CREDENTIAL']);
  });
});
