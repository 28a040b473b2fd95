import { ChargeLedger, decideRepetition, type EarlierRuns } from '../../src/job/charge';

const unpaid: EarlierRuns = { charge: 'no' };
const unknown: EarlierRuns = { charge: 'maybe' };
const accepted: EarlierRuns = { charge: 'yes', taskId: 'task-1' };

const keep = { kind: 'keep' };
const fetch = { kind: 'fetch' };
const done = { kind: 'done' };
const convert = { kind: 'convert', isMarked: false };
const convertMarked = { kind: 'convert', isMarked: true };

describe('repeating a job', () => {
  it.each([
    ['refused or failed at the service', unpaid, 'resubmit', convert],
    ['refused or failed at the service', unpaid, 'fail', convert],
    ['unknown', unknown, 'resubmit', convertMarked],
    ['unknown', unknown, 'fail', keep],
    ['accepted', accepted, 'resubmit', fetch],
    ['accepted', accepted, 'fail', fetch],
  ] as const)('that was %s, %j, under policy %s', (_title, earlier, onUnknownOutcome, expected) => {
    expect(decideRepetition(earlier, { onUnknownOutcome, isSameContent: true })).toEqual(expected);
  });

  it.each([unknown, accepted])(
    'converts changed content again after %j, whatever the policy, and marks it',
    (earlier) => {
      const changed = { onUnknownOutcome: 'fail', isSameContent: false } as const;
      expect(decideRepetition(earlier, changed)).toEqual(convertMarked);
    },
  );

  it.each([unknown, accepted])('converts everything again on request after %j, and marks it', (earlier) => {
    const asked = { onUnknownOutcome: 'fail', isSameContent: true, again: true } as const;
    expect(decideRepetition(earlier, asked)).toEqual(convertMarked);
  });

  it('marks nothing if nothing was charged before, whatever the options', () =>
    expect(decideRepetition(unpaid, { onUnknownOutcome: 'fail', isSameContent: false, again: true })).toEqual(convert));

  it.each([
    ['the same content', { isSameContent: true }, done],
    ['other content', { isSameContent: false }, convert],
    ['the same content, which is wanted again', { isSameContent: true, again: true }, convert],
  ])('that was delivered, with %s, marks nothing', (_title, asked, expected) => {
    const delivered: EarlierRuns = { ...accepted, delivered: true };
    for (const onUnknownOutcome of ['fail', 'resubmit'] as const) {
      expect(decideRepetition(delivered, { onUnknownOutcome, ...asked })).toEqual(expected);
    }
  });
});

describe('the conversions that may have been charged besides the one that counts', () => {
  it('are those that were submitted before and neither refused nor resolved', () => {
    const ledger = new ChargeLedger();
    ledger.unknown();
    expect(ledger.summary()).toEqual({ charge: 'maybe' });
    ledger.unknown();
    ledger.accepted('task-1');
    expect(ledger.summary()).toEqual({ charge: 'yes', taskId: 'task-1', possiblyChargedExtra: 2 });
    ledger.failedAtService();
    expect(ledger.summary()).toEqual({ charge: 'maybe', possiblyChargedExtra: 2 });
  });

  it('are carried from run to run; an open one counts once another is submitted', () => {
    const ledger = new ChargeLedger({ charge: 'maybe', possiblyChargedExtra: 1 });
    expect(ledger.summary()).toEqual({ charge: 'maybe', possiblyChargedExtra: 1 });
    ledger.accepted('task-2');
    expect(ledger.summary()).toEqual({ charge: 'yes', taskId: 'task-2', possiblyChargedExtra: 2 });
  });

  it('are none after a delivered task whose result is lost', () => {
    const ledger = new ChargeLedger({ charge: 'yes', taskId: 'task-1', delivered: true });
    ledger.lost();
    expect(ledger.summary()).toEqual({ charge: 'no' });
  });
});
