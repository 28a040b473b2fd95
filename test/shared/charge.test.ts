import { decideRepetition, type EarlierRuns } from '../../src/shared/charge';

const unpaid: EarlierRuns = { charge: 'no' };
const unknown: EarlierRuns = { charge: 'maybe' };
const accepted: EarlierRuns = { charge: 'yes', taskId: 'task-1' };

const keep = { kind: 'keep' };
const fetch = { kind: 'fetch', taskId: 'task-1' };
const convert = { kind: 'convert', isMarked: false };
const convertMarked = { kind: 'convert', isMarked: true };

describe('the repetition of a job', () => {
  it.each([
    ['refused or failed at the service', unpaid, 'resubmit', convert],
    ['refused or failed at the service', unpaid, 'fail', convert],
    ['unknown', unknown, 'resubmit', convertMarked],
    ['unknown', unknown, 'fail', keep],
    ['accepted', accepted, 'resubmit', fetch],
    ['accepted', accepted, 'fail', fetch],
  ] as const)('of one that was %s, %j, under policy %s', (_title, earlier, onUnknownOutcome, expected) => {
    expect(decideRepetition(earlier, { onUnknownOutcome, isSameContent: true })).toEqual(expected);
  });

  it.each([unknown, accepted])(
    'converts what has changed since %j again, whatever the policy, and marks it',
    (earlier) => {
      const changed = { onUnknownOutcome: 'fail', isSameContent: false } as const;
      expect(decideRepetition(earlier, changed)).toEqual(convertMarked);
    },
  );

  it.each([unknown, accepted])('converts again what was %j when somebody asks for it, and marks it', (earlier) => {
    const asked = { onUnknownOutcome: 'fail', isSameContent: true, resubmit: true } as const;
    expect(decideRepetition(earlier, asked)).toEqual(convertMarked);
  });

  it('marks nothing when nothing was charged before, however it is asked for', () => {
    expect(decideRepetition(unpaid, { onUnknownOutcome: 'fail', isSameContent: false, resubmit: true })).toEqual(
      convert,
    );
  });
});
