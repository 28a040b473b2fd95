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

/** A time-skipping server with a stub service, a worker and a client. For one job at a time. */
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
  /** Sets the server's time, in milliseconds since the epoch. */
  set(serverNowMs: number): void;
  restore(): void;
}

/** Makes both clocks of this process follow the server's, so that skipped time passes for activities too. */
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

/** Reads the server's clock before each attempt of an activity, since time is skipped only between attempts. */
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
        // This server reports the time at which a retry was decided on, the real one the time at which it was due.
        Object.assign(Context.current().info, { currentAttemptScheduledTimestampMs: Date.now() });
        return next(input);
      },
    };
    return { ...super.configureWorker(options), interceptors: { activity: [() => ({ inbound })] } };
  }
}
