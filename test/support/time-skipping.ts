import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Context } from '@temporalio/activity';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ActivityInboundCallsInterceptor, WorkerOptions } from '@temporalio/worker';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { FileConversionPlugin } from '../../src/plugin';
import { createConversionWorker } from '../../src/worker';
import { installQuietRuntime } from './conversion-worker';
import { obtainTestServer } from './test-server';
import { startStubService, stubAppId, stubToken, type StubService } from './stub-service';

/** A server that skips the time in which nothing happens, with a stub service, a worker and a client. For one job at a time. */
export interface SkippingRig {
  stub: StubService;
  client: FileConversionClient;
  environment: TestWorkflowEnvironment;
  /** Writes a source file and returns its path. */
  source(name: string): Promise<string>;
  close(): Promise<void>;
}

export async function startSkippingRig(): Promise<SkippingRig> {
  installQuietRuntime();
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: await obtainTestServer() } },
  });
  const stub = await startStubService();
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-test-'));
  const clock = followServerClock();
  const plugin = new SkippingPlugin(async () => clock.set(await environment.currentTimeMs()), {
    apps: { stub: { baseUrl: stub.url, appId: stubAppId, token: stubToken } },
  });
  const worker = await createConversionWorker({
    connection: environment.nativeConnection,
    plugin,
    shutdownGraceMs: 1_000,
  });
  const running = worker.run();
  return {
    stub,
    environment,
    client: new FileConversionClient({ client: environment.client, app: 'stub' }),
    async source(name) {
      const file = path.join(folder, name);
      await writeFile(file, '# A report\n');
      return file;
    },
    async close() {
      worker.shutdown();
      await running;
      await stub.close();
      await environment.teardown();
      clock.restore();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface FollowingClock {
  /** It is this late at the server, in milliseconds since the epoch. */
  set(serverNowMs: number): void;
  restore(): void;
}

/** Both clocks of this process as the server's: what has been skipped has passed for the activities too. */
function followServerClock(): FollowingClock {
  const now = Date.now.bind(Date);
  const elapsed = performance.now.bind(performance);
  let skippedMs = 0;
  const spies = [
    jest.spyOn(Date, 'now').mockImplementation(() => now() + skippedMs),
    jest.spyOn(performance, 'now').mockImplementation(() => elapsed() + skippedMs),
  ];
  return {
    set: (serverNowMs) => (skippedMs = serverNowMs - now()),
    restore: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

/** Each attempt of an activity begins with a look at the server's clock: time is skipped between attempts only. */
class SkippingPlugin extends FileConversionPlugin {
  constructor(
    private readonly beforeAttempt: () => Promise<void>,
    options: ConstructorParameters<typeof FileConversionPlugin>[0],
  ) {
    super(options);
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const inbound: ActivityInboundCallsInterceptor = {
      execute: async (input, next) => {
        await this.beforeAttempt();
        // This server tells of a retry when it was decided on, the real one when it was due.
        Object.assign(Context.current().info, { currentAttemptScheduledTimestampMs: Date.now() });
        return next(input);
      },
    };
    return { ...super.configureWorker(options), interceptors: { activity: [() => ({ inbound })] } };
  }
}
