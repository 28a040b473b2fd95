import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { ConversionRig } from '../support/conversion-worker';
import { startRig } from '../support/conversion-worker';
import { answerOutput, answerRunning } from '../support/stub-service';

describe('the first check of a conversion', () => {
  let rig: ConversionRig;

  beforeEach(async () => {
    rig = await startRig();
  });

  afterEach(async () => {
    await rig.close();
  });

  /** From now on conversions take this long, and the service says so. */
  function takeMs(durationMs: number): void {
    const submittedAt = new Map<string, number>();
    rig.stub.on('convert/file', (_seen, response) => {
      const id = randomUUID();
      submittedAt.set(id, Date.now());
      answerRunning(response, id);
    });
    rig.stub.on('task/response', (seen, response) => {
      const id = String(seen.data['connector']);
      const isDone = Date.now() - (submittedAt.get(id) ?? 0) >= durationMs;
      const entity = { id, type: 'task', status: isDone ? 'completed' : 'running' };
      const output = { connector: id, status: 'successful', duration: durationMs / 1_000 };
      answerOutput(response, { entity, result: isDone ? { output, error: {}, warning: {} } : {} });
    });
  }

  async function convert(index: number, output = 'pdf') {
    const destination = path.join(rig.folder, 'out', `${index}.${output}`);
    return rig.client.convert({ source: await rig.source(`report-${index}.md`), output, destination });
  }

  it('comes when the earlier ones of its formats were done, so that the next job needs one poll', async () => {
    takeMs(3_000);
    expect((await convert(1)).requests).toBe(6);
    rig.stub.requests.length = 0;
    const { requests } = await convert(2);
    expect(requests).toBe(5);
    expect(rig.stub.count('task/response')).toBe(1);
  });
});
