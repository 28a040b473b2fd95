import { randomUUID } from 'node:crypto';
import { parseCallbackKeys } from '../../src/callbacks/callback-url';
import { createSignalJob, startCallbackReceiver, type CallbackReceiver } from '../../src/callbacks/receiver';
import { startRig, type ConversionRig } from './conversion-worker';
import { answerCompleted, answerNotYet, answerRunning, type StubService } from './stub-service';
import { testClient } from './temporal';
import { whileTesting } from './while-testing';

export const callbackKeyText = 'callback-key-of-the-tests-0123456789-abcdef';

/** A rig whose jobs ask for callbacks, with a receiver for them. */
export interface CallingBackRig extends ConversionRig {
  receiver: CallbackReceiver;
}

/** @param options.onWait Called when a submit waits in this process for its callback. Default: submits do not wait. */
export async function startCallingBackRig({
  onWait,
  ...options
}: Parameters<typeof startRig>[0] & { onWait?: () => void } = {}): Promise<CallingBackRig> {
  const temporal = await testClient();
  const receiver = await startCallbackReceiver({
    keys: parseCallbackKeys(callbackKeyText),
    signalJob: createSignalJob(temporal),
  });
  const comes: CallbackReceiver['comes'] = (...wait) => {
    const come = receiver.comes(...wait);
    onWait?.();
    return come;
  };
  const rig = await startRig({
    ...options,
    callbacks: { key: callbackKeyText, publicBaseUrl: receiver.url, ...(onWait && { receiver: { comes } }) },
  });
  return {
    ...rig,
    receiver,
    async close() {
      await rig.close();
      await receiver.close();
      await temporal.connection.close();
    },
  };
}

/** A new rig for each test of the file or `describe` that calls this. */
export const callingBackRigOfEachTest = (): CallingBackRig =>
  whileTesting(startCallingBackRig, (rig) => rig.close(), { before: beforeEach, after: afterEach });

/** A task of the stub service that runs until `finish`. The test sends its callback. */
export interface StubTask {
  readonly id: string;
  readonly callbackUrl: string | undefined;
  /** From now on the service reports it as completed. */
  finish(): void;
  /** Posts to the callback URL. Returns the HTTP status. */
  callBack(body?: unknown): Promise<number>;
}

/** Records the stub's tasks. `accepted` is called with each one before its submit is answered. */
export function keepTasks(stub: StubService, accepted: (task: StubTask) => void | Promise<void> = () => undefined) {
  const tasks: StubTask[] = [];
  const finished = new Set<string>();
  stub.on('convert/file', async (seen, response) => {
    const task = run(seen.data['callback']);
    await accepted(task);
    answerRunning(response, task.id);
  });
  stub.on('task/response', ({ connector: id }, response) => {
    if (finished.has(id)) answerCompleted(response, id);
    else answerNotYet(response, id);
  });
  return { tasks, run };

  function run(callback: unknown): StubTask {
    const id = randomUUID();
    const callbackUrl = typeof callback === 'string' ? callback : undefined;
    const task: StubTask = {
      id,
      callbackUrl,
      finish: () => void finished.add(id),
      async callBack(body = { entity: { id, type: 'task', status: 'completed' } }) {
        if (callbackUrl === undefined) throw new Error('no callback was asked for');
        return (await fetch(callbackUrl, { method: 'POST', body: JSON.stringify(body) })).status;
      },
    };
    tasks.push(task);
    return task;
  }
}
