import { pointInTime } from '../src/arguments';

it('a day begins at midnight in UTC, where the times of the tables are', () => {
  const before = new Date().toISOString().slice(0, 10);
  const today = pointInTime('today').toISOString();
  const after = new Date().toISOString().slice(0, 10);
  expect([`${before}T00:00:00.000Z`, `${after}T00:00:00.000Z`]).toContain(today);
});
