import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { ConversionJobResult } from '../../src/job/types';
import { openAdministration } from '../../packages/service/src/administration';
import { startTestService, tinySvg } from '../../packages/service/test/support';
import { quickPolicies } from '../support/conversion-worker';
import { StackFolder } from '../support/stack-process';
import { stubAppId, stubToken } from '../support/stub-service';
import { until } from '../support/until';

/** A hundred jobs with vCredits for forty: the real service, `fileconv up`, and the command that an operator types. */

const jobs = 100;
const funded = 40;
const unfunded = jobs - funded;
let service: Awaited<ReturnType<typeof startTestService>>;
let folder: StackFolder;
beforeAll(async () => {
  const tokenSha256 = createHash('sha256').update(stubToken).digest('hex');
  const app = { name: 'metered', appId: stubAppId, tokenSha256, vcredits: funded };
  service = await startTestService({}, { app, token: stubToken });
  folder = await StackFolder.create({ metered: service.service.url });
});

afterAll(async () => {
  await folder.remove();
  await service.stop();
});

/** Of the app at the service. */
async function balance() {
  const administration = await openAdministration({ dataDir: service.dataDir });
  try {
    return administration.balanceOf(stubAppId);
  } finally {
    administration.close();
  }
}

async function addCredits(vcredits: number): Promise<void> {
  const administration = await openAdministration({ dataDir: service.dataDir });
  administration.addCredits(stubAppId, vcredits);
  administration.close();
}

it('forty are converted, sixty park over kill -9 of their stack, and one command lets them continue', async () => {
  const source = path.join(folder.path, 'logo.svg');
  await writeFile(source, tinySvg);
  const first = await folder.up();
  const counting = (temporal: Client) => async (query: string) => (await temporal.workflow.count(query)).count;
  const parkedJobs = "ConversionStatus = 'parked' AND ExecutionStatus = 'Running'";
  const ids = await first.withClient(async (client, temporal) => {
    const count = counting(temporal);
    const handles = await Promise.all(
      Array.from({ length: jobs }, (_, index) =>
        client.start({
          app: 'metered',
          source,
          output: 'png',
          destination: path.join(folder.path, 'out', `${index}.png`),
          policies: { ...quickPolicies, retryMaximumInterval: '10 minutes' },
        }),
      ),
    );
    await until('forty are converted', async () => (await count("ExecutionStatus = 'Completed'")) === funded, 120_000);
    await until('sixty are parked', async () => (await count(parkedJobs)) === unfunded);
    return handles.map(({ workflowId }) => workflowId);
  });
  expect(await balance()).toMatchObject({ vcredits: 0, reserved: 0 });

  await folder.kill('up');
  // Its Temporal may have another address.
  const stack = await folder.up();
  await stack.withClient(async (client, temporal) => {
    expect(await counting(temporal)(parkedJobs)).toBe(unfunded);
    await addCredits(unfunded);
    const { exitCode, stdout } = await folder.run(['app', 'ready', '--app', 'metered', '--json']);
    expect(exitCode).toBe(0);
    // A job that had just parked when its worker was killed may have asked again meanwhile.
    expect(JSON.parse(stdout)).toMatchObject({ app: 'metered', failed: 0 });
    const results = await Promise.all(ids.map((id) => client.get(id).result()));
    const summaryOf = ({ status, vcredits, possiblyChargedTwice }: ConversionJobResult) =>
      `${status} ${vcredits ?? 'no'} ${String(possiblyChargedTwice)}`;
    expect(new Set(results.map(summaryOf))).toEqual(new Set(['succeeded 1 false']));
    expect(new Set(results.map(({ taskId }) => taskId)).size).toBe(jobs);
    expect(await balance()).toMatchObject({ vcredits: 0, reserved: 0 });
  });
  expect(await stack.interrupt()).toBe(0);
});
