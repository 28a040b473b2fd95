import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

/** Jobs, and beside them in the same worker what they are compared with. */
export * from '../../src/workflows';

const goOn = defineSignal('goOn');

/** To a job that waits for its callback: waits for a signal, then starts one activity that does nothing. */
export async function waitingWorkflow(): Promise<number> {
  const { noOp } = proxyActivities<{ noOp: (step: number) => Promise<number> }>({ startToCloseTimeout: '1 minute' });
  let told = false;
  setHandler(goOn, () => void (told = true));
  await condition(() => told);
  return await noOp(1);
}

/** To a job whose worker is killed: one activity that heartbeats as often as those of jobs, and ends at its second attempt. */
export async function heartbeatingWorkflow(heartbeatTimeoutMs: number): Promise<void> {
  const { heartbeatUntilLost } = proxyActivities<{ heartbeatUntilLost: () => Promise<void> }>({
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: heartbeatTimeoutMs,
  });
  await heartbeatUntilLost();
}
