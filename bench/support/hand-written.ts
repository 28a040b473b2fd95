import { proxyActivities, sleep } from '@temporalio/workflow';
import type { handWrittenActivities } from './hand-written-activities';

export interface HandWrittenInput {
  readonly baseUrl: string;
  readonly source: string;
  readonly output: string;
  readonly destination: string;
}

/** What a job is compared with: the workflow that is usually written, four activities without any protection. */
export async function handWrittenConversion({ baseUrl, source, output, destination }: HandWrittenInput): Promise<void> {
  const { upload, submit, isDone, download } = proxyActivities<typeof handWrittenActivities>({
    startToCloseTimeout: '5 minutes',
  });
  const connector = await upload(baseUrl, source);
  const task = await submit(baseUrl, connector, output);
  while (!(await isDone(baseUrl, task))) await sleep('2 seconds');
  await download(baseUrl, task, destination);
}
