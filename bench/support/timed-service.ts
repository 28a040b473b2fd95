import { keepTasks } from '../../test/support/calling-back';
import { startStubService, type StubService } from '../../test/support/stub-service';
import { type BenchService, startService } from './bench-service';
import { asChild } from './child-process';

/** A conversion service whose every conversion takes the same time. It calls back where that was asked for, and counts `requests`. */
export function startTimedService(conversionMs: number): Promise<BenchService> {
  return startService(__filename, conversionMs);
}

let stub: StubService | undefined;

async function begin(conversionMs: number): Promise<string> {
  stub = await startStubService();
  keepTasks(stub, (task) => {
    setTimeout(() => {
      task.finish();
      if (task.callbackUrl !== undefined) void callBack(task);
    }, conversionMs);
  });
  return new URL(stub.url).port;
}

async function callBack(task: { callBack(): Promise<number> }): Promise<void> {
  const status = await task.callBack();
  if (status !== 204) console.error(`A callback was answered with ${status}.`);
}

asChild(module, begin, { requests: () => stub?.requests.length });
