import type { Client } from '@temporalio/client';
import { appReadySignal, conversionBatchType } from '../../shared/names';
import { signalWaiting, type Signalled } from './signal-waiting';

/** Resumes every batch of an app whose account was refused; unlisted batches that need nothing ignore it. */
export function appReady(client: Client, { app }: { app: string }): Promise<Signalled> {
  return signalWaiting(client, {
    type: conversionBatchType,
    app,
    status: 'needsAttention',
    signal: appReadySignal,
    reason: `the service accepts app ${app} again`,
  });
}
