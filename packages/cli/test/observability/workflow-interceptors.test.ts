import { randomUUID } from 'node:crypto';
import { RunSpanIds } from '../../src/observability/tracing/workflow-interceptors';

const runId = '01a1fe11-34cc-7abf-b5ef-66124605932f';

describe('the span ids of a run', () => {
  it('are the same at every replay, and take none of the numbers that belong to the workflow', () => {
    const { random } = Math;
    Math.random = () => {
      throw new Error('a number of the workflow');
    };
    try {
      const [one, other] = [new RunSpanIds(runId), new RunSpanIds(runId)];
      const first = Array.from({ length: 5 }, () => one.generateSpanId());
      expect(Array.from({ length: 5 }, () => other.generateSpanId())).toEqual(first);
    } finally {
      Math.random = random;
    }
  });

  it('are no others than those that the W3C allows', () => {
    const ids = new RunSpanIds(runId);
    for (let count = 0; count < 1_000; count += 1) expect(ids.generateSpanId()).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    expect(ids.generateTraceId()).toBe('01a1fe1134cc7abfb5ef66124605932f');
  });

  it('do not collide, also between runs that began in the same moment', () => {
    const seen = new Set<string>();
    for (let run = 0; run < 500; run += 1) {
      const ids = new RunSpanIds(`01a1fe11-34cc-7${randomUUID().slice(15)}`);
      for (let span = 0; span < 40; span += 1) seen.add(ids.generateSpanId());
    }
    expect(seen.size).toBe(20_000);
  });
});
