import type { ConnectionLike } from '@temporalio/client';
import type { FindObstacle } from './health-endpoint';

const timeoutMs = 2_000;
const validForMs = 1_000;

/** Whether Temporal answers. It is asked once a second at most, however many probe. */
export function createTemporalObstacle(
  connection: ConnectionLike,
  now: () => number = () => performance.now(),
): FindObstacle {
  let last: { found: Promise<string | undefined>; validUntil: number } | undefined;

  async function ask(): Promise<string | undefined> {
    try {
      await connection.withDeadline(Date.now() + timeoutMs, () => connection.workflowService.getSystemInfo({}));
      return undefined;
    } catch {
      return "Temporal can't be reached";
    }
  }

  return () => {
    if (last && now() < last.validUntil) return last.found;
    const asked = { found: ask(), validUntil: Infinity };
    void asked.found.then(() => (asked.validUntil = now() + validForMs));
    last = asked;
    return asked.found;
  };
}
