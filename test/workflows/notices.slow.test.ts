import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { BatchRequest } from '../../src/client/index';
import { tellReady } from '../../src/client/operations/tell-app';
import { runsOf } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { noticeSecret, startListener, type Listener, type Word } from '../support/listener';
import { until } from '../support/until';

/** What a batch tells a listener, on a real Temporal server. */

let listener: Listener;
let rig: ConversionRig;
let app: string;

beforeEach(async () => {
  app = `told-${randomUUID()}`;
  listener = await startListener();
});

afterEach(async () => {
  await rig.close();
  listener.close();
});

/** A worker that tells the listener. */
async function startTelling(events?: ['app.parked']) {
  const notify = { url: listener.url, secret: noticeSecret, allowedHosts: ['127.0.0.1'], ...(events && { events }) };
  rig = await startRig({ app, notify });
}

async function batchOf(files: number, change: Partial<BatchRequest> = {}): Promise<BatchRequest> {
  const name = `batch-${randomUUID()}`;
  await mkdir(path.join(rig.folder, 'in'), { recursive: true });
  for (let file = 1; file <= files; file += 1) await rig.source(path.join('in', `${file}.md`));
  const [out, runs] = [path.join(rig.folder, 'out'), path.join(rig.folder, 'runs')];
  return { name, sources: [path.join(rig.folder, 'in')], to: 'pdf', out, runs, policies: quickPolicies, ...change };
}

const heard = (type: string): Word[] => listener.accepted.filter((word) => word.type === type);

it('jobs that wait for a person are told once for all of them, also when the batch continues as new', async () => {
  await startTelling();
  let code: string | undefined = 'INVALID_CREDENTIAL';
  rig.stub.refuse = ({ path: endpoint }) => (endpoint === 'upload/file' ? code : undefined);
  const policies = { ...quickPolicies, retryMaximumInterval: '1 hour' } as const;
  const request = await batchOf(4, { window: 3, historyLimit: 1, policies });
  const batch = await rig.client.startBatch(request);
  let jobs = 0;
  await until('all that are in flight wait', async () => {
    const { inFlight, needsAttention } = await batch.state();
    jobs = inFlight;
    return needsAttention?.jobs === inFlight;
  });
  const parked = `ConversionApp = '${app}' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running'`;
  await until('they are listed', async () => (await rig.temporal.workflow.count(parked)).count === jobs);
  await until('it is told', () => heard('batch.needs_attention').length > 0);
  expect(heard('batch.needs_attention')).toMatchObject([{ data: { batch: request.name, code, app } }]);
  code = undefined;
  await tellReady(rig.temporal, { app });
  await batch.result();
  expect((await runsOf(rig.temporal, request.name)).length).toBeGreaterThan(1);
  await until('its end is told', () => heard('batch.ended').length > 0);
  expect(heard('batch.needs_attention')).toHaveLength(1);
});
