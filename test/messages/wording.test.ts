import { timesCharged } from '../../src/messages/wording';

it.each([
  [{}, 'twice'],
  [{ possiblyChargedExtra: 1 }, 'twice'],
  [{ possiblyChargedExtra: 2 }, '3 times'],
])('a conversion marked with %j may have been charged %s', (marked, times) => expect(timesCharged(marked)).toBe(times));
