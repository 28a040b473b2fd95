import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { build } from 'esbuild';
import { environmentOutsideNpm } from '../package/installed-project';
import { rigOfAllTests } from '../support/conversion-worker';
import { newNamespace } from '../support/namespace';
import { newEndpoint } from '../support/nexus-caller';
import { answerRunning } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

/** Programs of examples/ in a separate namespace, connected to the worker only by an endpoint. */

const run = promisify(execFile);
const root = path.resolve(__dirname, '../..');

const rig = rigOfAllTests({ app: 'invoices', nexus: { apps: ['invoices'] } });
let caller: Client;
let endpoint: string;
const started: ChildProcess[] = [];

beforeAll(async () => {
  caller = new Client({ connection: rig.temporal.connection, namespace: await newNamespace(rig.temporal) });
  endpoint = await newEndpoint(rig.temporal, { namespace: 'default', taskQueue: rig.taskQueue });
});

afterEach(() => rig.stub.asAlways('convert/file', 'task/response'));

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

/** Starts an example as a process. */
function start(program: string, args: readonly string[]) {
  const child = spawn(process.execPath, [program, endpoint, 'invoices', ...args], {
    env: {
      ...environmentOutsideNpm(),
      OPENAI_API_KEY: '',
      TEMPORAL_ADDRESS: testTemporalAddress(),
      TEMPORAL_NAMESPACE: caller.options.namespace,
    },
  });
  started.push(child);
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
  const ended = new Promise<typeof texts & { code: number | null }>((resolve) =>
    child.once('close', (code) => resolve({ code, ...texts })),
  );
  return { child, ended };
}

/** Kills the process during a conversion, which ends afterwards. */
async function killDuringConversion({ child, ended }: ReturnType<typeof start>): Promise<void> {
  const before = rig.stub.count('task/response');
  rig.stub.on('task/response', (seen, response) => answerRunning(response, seen.connector));
  await Promise.race([
    until('the conversion runs', () => rig.stub.count('task/response') > before + 1),
    ended.then(({ stderr }) => expect(stderr).toBe('not ended yet')),
  ]);
  child.kill('SIGKILL');
  await ended;
  rig.stub.on('task/response', (seen, response) => rig.stub.answerAsAlways(seen, response));
}

describe('an agent whose tool is the Nexus operation', () => {
  let program: string;

  beforeAll(async () => (program = await compiledAgent()), 600_000);

  const ask = (prompt: string, workflowId: string) => start(program, [rig.folder, prompt, workflowId]);

  it('converts a file once even if its process is killed during the conversion', async () => {
    await rig.source('killed.md');
    const before = rig.stub.conversions.size;
    const workflowId = randomUUID();
    await killDuringConversion(ask('Please turn killed.md to pdf', workflowId));
    expect(await ask('Please turn killed.md to pdf', workflowId).ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/"killed\.pdf"/) as string,
    });
    expect(await readFile(path.join(rig.folder, 'killed.pdf'))).toEqual(rig.stub.output);
    expect(rig.stub.conversions.size).toBe(before + 1);
    const { events } = await caller.workflow.getHandle(workflowId).fetchHistory();
    expect(events?.filter((event) => event.nexusOperationScheduledEventAttributes)).toHaveLength(1);
  });

  it('tells the model the code of a failure, and what to do', async () => {
    await rig.source('refused.md');
    rig.stub.fail('convert/file', 400, 'INVALID_FORMAT');
    const { stdout } = await ask('Please turn refused.md to pdf', randomUUID()).ended;
    expect(stdout).toMatch(/Failed: INVALID_FORMAT: refused\.md → pdf: .*choose another format/);
  });

  it('reaches no file outside its folder', async () => {
    const before = rig.stub.count('upload/file');
    const { stdout } = await ask('Please turn ../../etc/passwd to pdf', randomUUID()).ended;
    expect(stdout).toMatch(/Failed: UNSUPPORTED_URI/);
    expect(rig.stub.count('upload/file')).toBe(before);
  });
});

describe('a program without a workflow', () => {
  let program: string;

  beforeAll(async () => {
    program = path.join(root, 'node_modules/.cache/standalone-nexus.js');
    await build({
      entryPoints: [path.join(root, 'examples/standalone-nexus/start.ts')],
      tsconfig: path.join(root, 'tsconfig.check.json'),
      outfile: program,
      bundle: true,
      platform: 'node',
      external: ['@temporalio/*'],
    });
  });

  const convert = async (name: string, key: string) => start(program, [await rig.source(name), 'pdf', key]);

  it('gets one result of one conversion even if it is killed and run again twice', async () => {
    const before = rig.stub.conversions.size;
    await killDuringConversion(await convert('plain.md', 'letters/1'));
    for (const again of [1, 2]) {
      const { ended } = await convert('plain.md', 'letters/1');
      expect([again, await ended]).toEqual([again, { code: 0, stdout: 'plain.pdf\n', stderr: '' }]);
    }
    expect(await readFile(path.join(rig.folder, 'plain.pdf'))).toEqual(rig.stub.output);
    expect(rig.stub.conversions.size).toBe(before + 1);
  });

  it('gets the reason of a failure, and what to do', async () => {
    rig.stub.fail('convert/file', 400, 'INVALID_FORMAT');
    const { code, stderr } = await (await convert('bad.md', 'letters/2')).ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^bad\.md → pdf: .*choose another format/)]);
  });
});

/** Compiles and type-checks `app/start.js` of examples/agent beside its packages, which are cached for later runs. */
async function compiledAgent(): Promise<string> {
  const example = path.join(root, 'examples/agent');
  const manifest = await readFile(path.join(example, 'package.json'));
  const digest = createHash('sha256').update(manifest).digest('hex').slice(0, 16);
  const folder = path.join(root, `node_modules/.cache/agent-${digest}`);
  const complete = path.join(folder, 'complete');
  if (!existsSync(complete)) await rm(folder, { recursive: true, force: true });
  await cp(example, folder, { recursive: true });
  if (!existsSync(complete)) {
    const env = environmentOutsideNpm();
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder, env });
    await writeFile(complete, '');
  }
  const types = path.join(root, 'node_modules/@types');
  await run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--typeRoots', types]);
  return path.join(folder, 'app/start.js');
}
