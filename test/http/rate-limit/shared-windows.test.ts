import type { EndpointClass } from '../../../src/contract/endpoints';
import { type Before, SharedWindows } from '../../../src/http/rate-limit/shared-windows';

const latencyMs = 10;
const usual = { throttled: false, limit: 20, resetSeconds: 60 };

function createWatch() {
  const windows = new SharedWindows();
  const clock = { nowMs: 0 };
  const send = () => windows.before(clock.nowMs);
  const answer = (name: EndpointClass, before: Before, remaining: number, told: Partial<typeof usual> = {}) => {
    clock.nowMs += latencyMs;
    return windows.answered(name, before, { headers: { ...usual, ...told, remaining }, nowMs: clock.nowMs });
  };
  const ask = (name: EndpointClass, remaining: number, told: Partial<typeof usual> = {}) =>
    answer(name, send(), remaining, told);
  return { windows, clock, send, answer, ask };
}

it('the same limit and the same end mean one window, however many others use it', () => {
  const { ask } = createWatch();
  expect([ask('upload', 19), ask('submit', 12)]).toEqual([[], [{ other: 'upload', isShared: true }]]);
});

it("an answer that does not count the other's request proves two windows, for good", () => {
  const { windows, clock, ask } = createWatch();
  ask('upload', 19);
  expect(ask('submit', 19)).toEqual([{ other: 'upload', isShared: false }]);
  expect(windows.areSeparate('upload', 'submit')).toBe(true);
  expect(windows.areSeparate('upload', 'poll')).toBe(false);
  clock.nowMs = 61_000;
  ask('upload', 19);
  expect(ask('submit', 18)).toEqual([{ other: 'upload', isShared: false }]);
});

it('an answer to a request sent before the other was known contradicts nothing', () => {
  const { ask, send, answer } = createWatch();
  const early = send();
  ask('upload', 18);
  expect(answer('submit', early, 19)).toEqual([{ other: 'upload', isShared: true }]);
});

it('a different limit or end means a different window, until that window ends', () => {
  const { clock, ask } = createWatch();
  ask('upload', 9, { limit: 10 });
  expect(ask('submit', 8)).toEqual([{ other: 'upload', isShared: false }]);
  clock.nowMs += 5_000;
  expect(ask('poll', 8)).toContainEqual({ other: 'submit', isShared: false });
  clock.nowMs += 61_000;
  ask('upload', 19);
  expect(ask('submit', 18)).toEqual([{ other: 'upload', isShared: true }]);
});

it('a refusal contradicts nothing, since others may have taken the rest', () => {
  const { ask } = createWatch();
  ask('upload', 0);
  expect(ask('submit', 0, { throttled: true })).toEqual([{ other: 'upload', isShared: true }]);
});

it('an answer that was slow, or that came when the other window may be over, proves nothing', () => {
  const { clock, ask, send, answer } = createWatch();
  ask('upload', 19);
  const slow = send();
  clock.nowMs += 3_000;
  expect(answer('submit', slow, 19)).toEqual([]);
  clock.nowMs = 59_500;
  expect(ask('poll', 19)).toEqual([]);
});

it('a window that has restarted is not taken for a different one', () => {
  const { clock, ask } = createWatch();
  ask('upload', 19);
  ask('submit', 18);
  clock.nowMs = 60_100;
  expect([ask('submit', 19), ask('upload', 18)]).toEqual([[], [{ other: 'submit', isShared: true }]]);
});
