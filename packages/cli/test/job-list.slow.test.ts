import path from 'node:path';
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { FileConversionClient } from '../../../src/client/file-conversion-client';
import { quickPolicies, startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { newNamespace } from '../../../test/support/namespace';
import { answerCompleted, cut } from '../../../test/support/stub-service';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, fileconvProcess, linesOf, newFolder, parseJson } from './fileconv';

const listSchema = z.object({
  jobs: z.array(z.looseObject({ workflowId: z.string(), status: z.string(), step: z.string().optional() })),
  total: z.int(),
});

const app = 'listing';
let rig: ConversionRig;
let cwd: string;
const env = { TEMPORAL_ADDRESS: '' };

/** One job in each state, oldest first. */
const ids = {
  completed: 'list/completed',
  twice: 'list/twice',
  failed: 'list/failed',
  parked: 'list/parked',
  running: 'list/running',
};

beforeAll(async () => {
  env.TEMPORAL_ADDRESS = testTemporalAddress();
  rig = await startRig({ app });
  cwd = await newFolder();
  const start = async (workflowId: string, name = 'report.md') =>
    rig.client.start(
      {
        source: await rig.source(name),
        output: 'pdf',
        destination: path.join(rig.folder, `${workflowId.slice(5)}.pdf`),
        policies: quickPolicies,
      },
      { workflowId, batchId: 'list' },
    );
  await (await start(ids.completed)).result();
  let submits = 0;
  rig.stub.on('convert/file', (seen, response) => {
    submits += 1;
    if (submits === 1) cut(response);
    else rig.stub.answerAsAlways(seen, response);
  });
  await (await start(ids.twice)).result();
  const error = { code: 'INVALID_CONVERT_FORMAT', message: 'Not this one.' };
  rig.stub.on('task/response', (seen, response) => answerCompleted(response, seen.connector, { error }));
  await expect((await start(ids.failed)).result()).rejects.toThrow('INVALID_CONVERT_FORMAT');
  rig.stub.fail('task/response', 500, 'INTERNAL_SERVER_ERROR');
  await start(ids.running);
  await until('it is converted', () => rig.stub.count('task/response') > 3);
  rig.stub.fail('convert/file', 403, 'INSUFFICIENT_VCREDITS');
  await start(ids.parked, 'table.csv');
  await until('all are listed', async () => {
    const query = `ConversionApp = '${app}' AND (ExecutionStatus != 'Running' OR ConversionStatus = 'parked')`;
    return (await rig.temporal.workflow.count(query)).count === 4;
  });
});

afterAll(async () => {
  for (const id of [ids.parked, ids.running]) await rig.temporal.workflow.getHandle(id).terminate();
  await rig.close();
});

async function listed(...args: string[]): Promise<string[]> {
  const ended = await fileconv(['job', 'list', '--json', '--app', app, ...args], { cwd, env });
  expect(ended.code).toBe(0);
  return listSchema.parse(parseJson(ended.stdout)).jobs.map(({ workflowId }) => workflowId);
}

describe('fileconv job list', () => {
  it('shows id, state or step, summary, time, code and vCredits, newest first', async () => {
    const { stdout, code } = await fileconv(['job', 'list', '--app', app], { cwd, env });
    expect(code).toBe(0);
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d';
    expect(linesOf(stdout)).toEqual([
      expect.stringMatching(/^ID +STATUS +SUMMARY +SINCE \(UTC\) +CODE +VCREDITS$/),
      expect.stringMatching(`^${ids.parked} +parked +table\\.csv → pdf +${time}$`),
      expect.stringMatching(`^${ids.running} +converting +report\\.md → pdf +${time}$`),
      expect.stringMatching(`^${ids.failed} +failed +report\\.md → pdf +${time} +INVALID_CONVERT_FORMAT$`),
      expect.stringMatching(`^${ids.twice} +completed +report\\.md → pdf +${time} +POSSIBLY_CHARGED_TWICE +1$`),
      expect.stringMatching(`^${ids.completed} +completed +report\\.md → pdf +${time} +1$`),
    ]);
  });

  it('shows local time next to UTC if they differ', async () => {
    const there = { cwd, env: { ...env, TZ: 'Asia/Tokyo' } };
    const { stdout } = await fileconvProcess(['job', 'list', '--app', app], there);
    expect(stdout).toMatch(/^ID +STATUS +SUMMARY +SINCE \(HERE\) +SINCE \(UTC\) +CODE +VCREDITS$/m);
    const [, here = '', utc = ''] = /(20\S+ \S+) +(20\S+ \S+)/.exec(stdout) ?? [];
    expect(Date.parse(`${here}Z`) - Date.parse(`${utc}Z`)).toBe(9 * 3_600_000);
    expect((await fileconvProcess(['batch', 'list'], there)).stdout).toMatch(/^$|STARTED \(HERE\) +STARTED \(UTC\)/);
  });

  it.each([
    ['--status parked', [ids.parked]],
    ['--status running', [ids.running]],
    ['--status failed', [ids.failed]],
    ['--status completed', [ids.twice, ids.completed]],
    ['--status cancelled', []],
    ['--code INVALID_CONVERT_FORMAT', [ids.failed]],
    ['--code POSSIBLY_CHARGED_TWICE', [ids.twice]],
    ['--batch list --status failed', [ids.failed]],
    ["--batch no'such", []],
    ['--since 1h', [ids.parked, ids.running, ids.failed, ids.twice, ids.completed]],
    ['--since 2999-01-01', []],
    ['--limit 2', [ids.parked, ids.running]],
  ])('lists exactly the matching jobs with %s', async (options, expected) => {
    expect(await listed(...options.split(' '))).toEqual(expected);
  });

  it('says how many more jobs there are', async () => {
    const { stderr } = await fileconv(['job', 'list', '--app', app, '--limit', '2'], { cwd, env });
    expect(stderr).toBe('2 of 5; see more with --limit 5.\n');
  });

  it('says what works and what to type if the search attributes are not registered', async () => {
    const namespace = await newNamespace(rig.temporal);
    const temporal = new Client({ connection: rig.temporal.connection, namespace });
    const client = new FileConversionClient({ client: temporal, app });
    const source = await rig.source('report.md');
    const { workflowId } = await client.start({ source, output: 'pdf' }, { workflowId: 'mine/1' });
    const other = await client.start({ source, output: 'pdf' }, { workflowId: 'mine/2' });
    await temporal.workflow.getHandle(other.workflowId).terminate();
    const listIn = (...args: string[]) =>
      fileconv(['job', 'list', ...args], { cwd, env: { ...env, TEMPORAL_NAMESPACE: namespace } });
    const visible = "WorkflowId STARTS_WITH 'mine/' AND ExecutionStatus = 'Terminated'";
    await until('both are listed', async () => (await temporal.workflow.count(visible)).count === 1);

    const running = await listIn('--status', 'running');
    expect(running.code).toBe(0);
    expect(linesOf(running.stdout).slice(1)).toEqual([
      expect.stringMatching(`^${workflowId} +waiting +report\\.md → pdf`),
    ]);
    expect(linesOf(running.stderr)).toEqual([expect.stringMatching(/^warning: .*Run: fileconv namespace init$/)]);
    expect(listSchema.parse(parseJson((await listIn('--status', 'failed', '--json')).stdout)).jobs).toEqual([
      expect.objectContaining({ workflowId: 'mine/2' }),
    ]);

    const refused = await listIn('--app', app, '--status', 'parked');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(linesOf(refused.stderr)).toEqual([
      expect.stringMatching(/ by app and status parked\. Register them: fileconv namespace init\. Without them /),
    ]);
  });

  it.each([
    [['--since', 'yesterday'], /time such as 2h/],
    [['--status', 'broken'], /Allowed choices are running, parked/],
    [['--limit', '0'], /whole number from 1/],
  ])('refuses %j with exit code 2', async (args, problem) => {
    const ended = await fileconv(['job', 'list', ...args], { cwd, env });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(problem)]);
  });
});
