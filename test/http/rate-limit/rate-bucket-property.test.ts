import fc from 'fast-check';
import { RateBucket } from '../../../src/http/rate-limit/rate-bucket';

describe('whatever the service answers', () => {
  const headers = fc.record({
    throttled: fc.boolean(),
    limit: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    remaining: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
    resetSeconds: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
    retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 20_000 }) }),
    fc.record({ kind: fc.constant('send' as const), isPatient: fc.boolean() }),
    fc.record({ kind: fc.constant('answer' as const), which: fc.nat(20), headers }),
    fc.record({ kind: fc.constant('lose' as const), which: fc.nat(20) }),
  );

  it('it never sends before the end of a RETRY-AFTER, nor at REMAINING 0 before RESET has passed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const bucket = new RateBucket({ random: () => 0.5 });
        let nowMs = 1_000;
        let blockedUntilMs = 0;
        let emptyUntilMs = 0;
        const underWay: ReturnType<RateBucket['sent']>[] = [];
        for (const each of steps) {
          if (each.kind === 'pass') nowMs += each.ms;
          if (each.kind === 'send' && bucket.decide(nowMs, each).kind === 'send') {
            expect(nowMs).toBeGreaterThanOrEqual(blockedUntilMs);
            expect(nowMs).toBeGreaterThanOrEqual(emptyUntilMs);
            underWay.push(bucket.sent(nowMs, each));
          }
          if (each.kind === 'answer' || each.kind === 'lose') {
            const [sent] = underWay.splice(each.which % Math.max(1, underWay.length), 1);
            if (!sent) continue;
            if (each.kind === 'lose') bucket.lost(sent);
            else {
              const { limit, remaining, resetSeconds, retryAfterSeconds, throttled } = each.headers;
              bucket.answered(
                sent,
                {
                  throttled,
                  ...(limit !== undefined && { limit }),
                  ...(remaining !== undefined && { remaining }),
                  ...(resetSeconds !== undefined && { resetSeconds }),
                  ...(throttled && retryAfterSeconds !== undefined && { retryAfterSeconds }),
                },
                nowMs,
              );
              if (throttled && retryAfterSeconds !== undefined)
                blockedUntilMs = Math.max(blockedUntilMs, nowMs + retryAfterSeconds * 1_000);
              // The first request of a window is bounded by its RESET only.
              if (
                !throttled &&
                sent.window === undefined &&
                remaining === 0 &&
                resetSeconds !== undefined &&
                underWay.length === 0
              )
                emptyUntilMs = nowMs + resetSeconds * 1_000;
            }
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('it always returns a time in the future at which a request goes out', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isPatient) => {
        const bucket = new RateBucket({ random: () => 0.5 });
        let nowMs = 1_000;
        const underWay: ReturnType<RateBucket['sent']>[] = [];
        for (const each of steps) {
          if (each.kind === 'pass') nowMs += each.ms;
          if (each.kind === 'send' && bucket.decide(nowMs, each).kind === 'send')
            underWay.push(bucket.sent(nowMs, each));
          if (each.kind === 'answer') {
            const [sent] = underWay.splice(each.which % Math.max(1, underWay.length), 1);
            if (sent) bucket.lost(sent);
          }
        }
        for (const sent of underWay) bucket.lost(sent);
        // With nothing in flight, the next request goes out within a few steps.
        for (let tries = 0; tries < 5; tries += 1) {
          const decision = bucket.decide(nowMs, { isPatient });
          if (decision.kind === 'send') return;
          expect(decision.untilMs).toBeGreaterThan(nowMs);
          expect(decision.untilMs - nowMs).toBeLessThanOrEqual(92_000);
          nowMs = decision.untilMs;
        }
        throw new Error('a waiter starves');
      }),
      { numRuns: 1_000 },
    );
  });
});
