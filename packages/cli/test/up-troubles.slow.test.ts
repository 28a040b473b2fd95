import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasStatus, operatorOf } from '../../../src/client/grpc';
import { newNamespace } from '../../../test/support/namespace';
import { testClient, testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { linesOf, newFolder, removeFolders, startProcess } from './fileconv';
import { startPassage } from './passage';
import { childrenOf } from './processes';

/** What befalls the Temporal of a stack while it runs: `fileconv up` says so, with what to do. */

const onLinux = process.platform === 'linux' ? it : it.skip;
afterAll(removeFolders);

const troubles = (stderr: string) => linesOf(stderr).filter((line) => line.includes('Temporal'));

it('a Temporal that was named goes away: that is said once, and that it is back once', async () => {
  const passage = await startPassage(testTemporalAddress());
  const env = { TEMPORAL_ADDRESS: passage.address, FILECONV_WORKER_TASK_QUEUE: 'passage' };
  const up = startProcess(['up'], { cwd: await newFolder(), env });
  await up.until(/Ctrl-C stops everything/);
  passage.cut();
  await up.until(/Temporal does not answer any more/);
  await passage.restore();
  await up.until(/Temporal answers again/);
  up.child.kill('SIGINT');
  const { code, stderr } = await up.ended;
  expect(code).toBe(0);
  expect(troubles(stderr)).toEqual([
    `warning: Temporal does not answer any more at ${passage.address}. Start it there: jobs wait, and go on by themselves when it is back.`,
    `Temporal answers again at ${passage.address}, and the stack goes on.`,
  ]);
  passage.cut();
});

it('the namespace is deleted: that is said once, with what to type, and that it is there again once', async () => {
  const temporal = await testClient();
  const namespace = await newNamespace(temporal);
  const env = { TEMPORAL_ADDRESS: testTemporalAddress(), TEMPORAL_NAMESPACE: namespace };
  const up = startProcess(['up'], { cwd: await newFolder(), env });
  await up.until(/Ctrl-C stops everything/);
  await operatorOf(temporal).deleteNamespace({ namespace });
  await up.until(/has no namespace/);
  const { workflowService } = temporal;
  await until('the name is free again', async () => {
    const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
    return workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod }).then(
      () => true,
      (error: unknown) => !hasStatus(error, 'ALREADY_EXISTS'),
    );
  });
  await up.until(/Temporal answers again/);
  up.child.kill('SIGINT');
  const { code, stderr } = await up.ended;
  expect(code).toBe(0);
  expect(troubles(stderr)).toEqual([
    `warning: Temporal at ${testTemporalAddress()} has no namespace ${namespace} any more, and nothing is converted. If it was deleted, its jobs are gone; to begin anew, type: temporal operator namespace create --address ${testTemporalAddress()} --namespace ${namespace} && fileconv namespace init`,
    `Temporal answers again at ${testTemporalAddress()}, and the stack goes on.`,
  ]);
  await temporal.connection.close();
});

onLinux('its database is damaged: it ends with one line that names the file and what to type', async () => {
  const cwd = await newFolder();
  const up = startProcess(['up'], { cwd, timeoutMs: 60_000 });
  await up.until(/Ctrl-C stops everything/);
  const database = path.join(cwd, '.fileconv/temporal.db');
  // What was written last stands in the log beside the file, which would mend it.
  await rm(`${database}-wal`);
  await writeFile(database, 'no database');
  process.kill(childrenOf(up.child.pid ?? 0).get('temporal') ?? 0, 'SIGKILL');
  const { code, stderr } = await up.ended;
  expect(code).toBe(1);
  const says = `error: Temporal can't use its database ${database} (file is not a database). Put a backup in its place; or begin without the jobs that it holds: mkdir -p '${cwd}/.fileconv/damaged' && mv '${database}'* '${cwd}/.fileconv/damaged'`;
  expect(linesOf(stderr).at(-1)).toBe(says);

  const next = startProcess(['up'], { cwd });
  expect(linesOf((await next.ended).stderr)).toEqual([says]);
});
