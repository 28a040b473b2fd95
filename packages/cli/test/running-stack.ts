import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { aliveWorkers } from '../../../src/client/operations/task-queue-workers';
import { startRig, type ConversionRig, type RigOptions } from '../../../test/support/conversion-worker';
import { answerOutput, stubAppId, stubToken } from '../../../test/support/stub-service';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { whileTesting } from '../../../test/support/while-testing';
import {
  commandEnv,
  mainFile,
  newFolder,
  parseJson,
  startProcess,
  type CommandOptions,
  type RunningProcess,
} from './fileconv';

const recordSchema = z.object({
  pid: z.int(),
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: z.string() }),
  service: z.object({ url: z.string() }),
  taskQueue: z.string(),
});

export type StackRecord = z.infer<typeof recordSchema>;

/** A running `fileconv up`; commands with `env` find it. */
export interface RunningStack {
  record: StackRecord;
  up: RunningProcess;
  stateDir: string;
  /** Makes a command in any folder use this stack. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/** Ends the stack even if its test dies. */
const longestMs = 1_800_000;

/** Shared by tests, which must not stop it or change its environment. */
export type SharedStack = Pick<RunningStack, 'record' | 'stateDir' | 'env'>;

/** A stack for one test file, which may need other settings, count requests or kill it. */
export async function startStack(env: CommandOptions['env'] = {}): Promise<RunningStack> {
  const cwd = await newFolder();
  const stateDir = path.join(cwd, 'state');
  const own = { FILECONV_STATE_DIR: stateDir };
  const up = startProcess(['up', '--json'], { cwd, env: { ...own, ...env }, timeoutMs: longestMs });
  return {
    record: recordOf(await up.untilJson()),
    up,
    stateDir,
    env: own,
    async stop() {
      await up.end();
    },
  };
}

/** Such a stack for all tests of the calling file or `describe`. */
export const stackOfAllTests = (env?: CommandOptions['env']): RunningStack =>
  whileTesting(
    () => startStack(env),
    (stack) => stack.stop(),
    { before: beforeAll, after: afterAll },
  );

/**
 * The one stack of this jest run: the first file that asks starts it, the end of the run stops it. It sends no callbacks, so that no
 * callback ends what a test holds.
 */
export async function sharedStack(): Promise<SharedStack> {
  const folder = path.join(tmpdir(), 'shared-stack');
  const stateDir = path.join(folder, 'state');
  const said = path.join(folder, 'up.json');
  // Only the process that creates the folder starts the stack.
  const isFirst = (await mkdir(folder, { recursive: true })) !== undefined;
  if (isFirst) startShared(folder, { FILECONV_STATE_DIR: stateDir, FILECONV_CALLBACKS_EMBEDDED: 'off' }, said);
  let text = '';
  await until('the shared stack is up', async () => {
    text = await readFile(said, 'utf8').catch(() => '');
    return /^\}$/m.test(text);
  });
  return { record: recordOf(parseJson(text)), stateDir, env: { FILECONV_STATE_DIR: stateDir } };
}

/** The shared stack, available in tests and hooks of the calling file. */
export const sharedStackOfTests = (): SharedStack =>
  whileTesting(sharedStack, () => Promise.resolve(), { before: beforeAll, after: afterAll });

/** The stack outlives this jest worker; global-teardown ends it. */
function startShared(cwd: string, env: Record<string, string>, said: string): void {
  const [stdout, stderr] = [openSync(said, 'w'), openSync(path.join(cwd, 'up.log'), 'w')];
  const up = spawn(process.execPath, [mainFile, 'up', '--json'], {
    cwd,
    env: commandEnv(env),
    detached: true,
    stdio: ['ignore', stdout, stderr],
  });
  up.unref();
  closeSync(stdout);
  closeSync(stderr);
}

export function recordOf(said: unknown): StackRecord {
  const { data, error } = recordSchema.safeParse(said);
  if (error) throw new Error(`fileconv up started no stack: ${JSON.stringify(said)}`, { cause: error });
  return data;
}

/**
 * A rig for commands. Waits until its worker polls, because a command without a worker starts a stack. The service converts every pair of
 * formats.
 */
export async function startRigOfCommands(options?: RigOptions): Promise<ConversionRig> {
  const rig = await startRig(options);
  await until('the worker polls', async () => (await aliveWorkers(rig.temporal, rig.taskQueue)).length > 0);
  rig.stub.on('convert/graph', (_seen, response) => answerOutput(response, { is_match: true, is_reversable: true }));
  return rig;
}

/** Such a rig for all tests of the calling file. */
export const rigOfCommandsOfAllTests = (options?: RigOptions): ConversionRig =>
  whileTesting(
    () => startRigOfCommands(options),
    (rig) => rig.close(),
    { before: beforeAll, after: afterAll },
  );

/** Makes commands use the worker and the stub service of a rig. */
export function envOfRig({ stub, taskQueue }: ConversionRig, app = 'stub'): Record<string, string> {
  const profile = `FILECONV_APPS_${app.toUpperCase()}`;
  return {
    TEMPORAL_ADDRESS: testTemporalAddress(),
    FILECONV_WORKER_TASK_QUEUE: taskQueue,
    FILECONV_DEFAULT_APP: app,
    [`${profile}_BASE_URL`]: stub.url,
    [`${profile}_APP_ID`]: stubAppId,
    [`${profile}_TOKEN`]: stubToken,
  };
}
