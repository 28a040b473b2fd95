import type { EndpointClass } from '../../../src/http/rate-limit/endpoint-class';
import { type Before, WindowEvidence } from '../../../src/http/rate-limit/window-evidence';

const latencyMs = 10;

/** Answers of a service as they come; `isAlone` as the lines see it. */
function createWatch({ isAlone = true, limit = 20 } = {}) {
  const evidence = new WindowEvidence();
  const clock = { nowMs: 0 };
  const send = (name: EndpointClass) => evidence.sent(name, clock.nowMs);
  const answer = (
    name: EndpointClass,
    before: Before,
    remaining: number,
    told: { limit?: number; reset?: number } = {},
  ) => {
    clock.nowMs += latencyMs;
    evidence.settled(name);
    const headers = { throttled: false, limit: told.limit ?? limit, remaining, resetSeconds: told.reset ?? 60 };
    return evidence.answered({ name, before, headers, nowMs: clock.nowMs, isAlone: () => isAlone });
  };
  const ask = (name: EndpointClass, remaining: number, told: { limit?: number; reset?: number } = {}) =>
    answer(name, send(name), remaining, told);
  return { evidence, clock, send, answer, ask };
}

it('one answer tells that two classes share a window, where nobody else spends: it tells of the other’s request', () => {
  const { ask } = createWatch();
  expect(ask('upload', 19)).toEqual([]);
  expect(ask('upload', 18)).toEqual([]);
  expect(ask('submit', 17)).toEqual([{ other: 'upload', isShared: true }]);
});

it('one answer tells that two classes have windows of their own: it does not tell of the other’s request', () => {
  const { evidence, ask } = createWatch();
  ask('upload', 19);
  expect(ask('submit', 19)).toEqual([{ other: 'upload', isShared: false }]);
  expect(evidence.areSeparate('upload', 'submit')).toBe(true);
  expect(evidence.areSeparate('upload', 'poll')).toBe(false);
});

it('another limit, or another end, is that of another window', () => {
  const { clock, ask } = createWatch();
  ask('upload', 9, { limit: 10 });
  expect(ask('submit', 8)).toEqual([{ other: 'upload', isShared: false }]);
  clock.nowMs += 5_000;
  expect(ask('poll', 8)).toContainEqual({ other: 'submit', isShared: false });
});

it('an answer that its own class alone explains tells nothing', () => {
  const { ask, send, answer } = createWatch();
  const polls = ['first', 'second', 'third'].map(() => send('poll'));
  ask('upload', 19);
  // The service has counted the three polls, in a window of their own or not.
  expect(polls.map((poll, index) => answer('poll', poll, 17 - index))).toEqual([[], [], []]);
});

it('where others spend, it takes several answers in a row, and one that does not fit proves the contrary', () => {
  const { ask } = createWatch({ isAlone: false });
  ask('upload', 19);
  // Somebody else took one before each.
  expect([ask('submit', 17), ask('upload', 15), ask('submit', 13)]).toEqual([[], [], []]);
  expect(ask('upload', 11)).toEqual([{ other: 'submit', isShared: true }]);
  expect(ask('upload', 14)).toEqual([{ other: 'submit', isShared: false }]);
});

it('what was told apart is put together again ever more slowly', () => {
  const { ask } = createWatch({ isAlone: false, limit: 100 });
  ask('upload', 99);
  expect(ask('submit', 99)).toEqual([{ other: 'upload', isShared: false }]);
  let left = 99;
  const together = () => {
    for (let answers = 0; answers < 50; answers += 1) {
      const [finding] = ask(answers % 2 === 0 ? 'submit' : 'upload', (left -= 1));
      if (finding?.isShared) return answers + 1;
    }
    return Infinity;
  };
  expect(together()).toBeGreaterThanOrEqual(8);
});

it('an answer that took long, or came when the other window may be over, tells nothing', () => {
  const { clock, ask, send, answer } = createWatch();
  ask('upload', 19);
  const slow = send('submit');
  clock.nowMs += 3_000;
  expect(answer('submit', slow, 19)).toEqual([]);
  clock.nowMs = 59_500;
  expect(ask('poll', 19)).toEqual([]);
});

it('a window that has begun again is not taken for another one', () => {
  const { clock, ask } = createWatch();
  ask('upload', 19);
  ask('submit', 18);
  clock.nowMs = 60_100;
  expect(ask('submit', 19)).toEqual([]);
  expect(ask('upload', 18)).toEqual([{ other: 'submit', isShared: true }]);
});
