import type { Client } from '@temporalio/client';
import type { CreditsWord } from '../../shared/job';
import { conversionJobType, creditsRestoredSignal } from '../../shared/names';
import { searchAttributes } from '../../shared/search-attributes';
import { quoted } from './job-query';
import { presentSearchAttributes } from './search-attributes';
import { signalWaiting, startSignalling, type Signalled } from './signal-waiting';

/** Resumes every job of an app that is parked for vCredits; unlisted jobs that are not parked ignore it. */
export function restoreCredits(client: Client, { app }: { app: string }): Promise<Signalled> {
  return signalWaiting(client, restoredSignal(app));
}

/** The same for listed jobs alone, without waiting until all are told; how many there are. */
export async function restoreListedCredits(client: Client, { app }: { app: string }): Promise<number> {
  return (await startSignalling(client, { ...restoredSignal(app), isListed: true })).count;
}

function restoredSignal(app: string) {
  // One timestamp for all jobs: after one job is refused again, similar ones send no request.
  const word: CreditsWord = { saidAt: Date.now() };
  return {
    type: conversionJobType,
    app,
    status: 'awaitingCredits',
    signal: creditsRestoredSignal,
    input: [word],
    reason: `vCredits of app ${app} were restored`,
  };
}

/** Whether Temporal knows any job of the app; undefined without the search attribute. */
export async function hasJobs(client: Client, app: string): Promise<boolean | undefined> {
  const by = searchAttributes.app.name;
  if (!(await presentSearchAttributes(client)).has(by)) return undefined;
  const query = `WorkflowType = '${conversionJobType}' AND (${by} = ${quoted(app)} OR (${by} IS NULL AND ExecutionStatus = 'Running'))`;
  return (await client.workflow.count(query)).count > 0;
}
