import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

export * from '../../src/workflows';

const goOn = defineSignal('goOn');

/** What a job that waits for its callback is compared with: waits for a signal, then starts one activity that does nothing. */
export async function waitingWorkflow(): Promise<number> {
  const { noOp } = proxyActivities<{ noOp: (step: number) => Promise<number> }>({ startToCloseTimeout: '1 minute' });
  let told = false;
  setHandler(goOn, () => void (told = true));
  await condition(() => told);
  return await noOp(1);
}
