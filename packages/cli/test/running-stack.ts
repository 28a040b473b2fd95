import path from 'node:path';
import { z } from 'zod';
import { newFolder, startFileconv, type CommandOptions, type RunningCommand } from './fileconv';

const recordSchema = z.object({
  pid: z.int(),
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: z.string() }),
  service: z.object({ url: z.string() }),
  taskQueue: z.string(),
});

/** A `fileconv up` that commands of a test file share; they find it by `env`. */
export interface RunningStack {
  record: z.infer<typeof recordSchema>;
  up: RunningCommand;
  stateDir: string;
  /** What makes a command in any folder use this stack. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/** Nothing is left behind by a test that dies; the long forms of tests take longer. */
const longestMs = process.env['FILECONV_TEST_ITEMS'] === undefined ? 1_800_000 : 7_200_000;

export async function startStack(env: CommandOptions['env'] = {}): Promise<RunningStack> {
  const cwd = await newFolder();
  const stateDir = path.join(cwd, 'state');
  const own = { FILECONV_STATE_DIR: stateDir };
  const up = startFileconv(['up', '--json'], { cwd, env: { ...own, ...env }, timeoutMs: longestMs });
  const said = await up.untilJson();
  const { data: record, error } = recordSchema.safeParse(said);
  if (error) throw new Error(`fileconv up started no stack: ${JSON.stringify(said)}`, { cause: error });
  return {
    record,
    up,
    stateDir,
    env: own,
    async stop() {
      up.child.kill('SIGINT');
      await up.ended;
    },
  };
}
