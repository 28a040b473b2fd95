import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import { until } from '../../../test/support/until';
import { writeStackRecord } from '../src/stack/stack-record';
import { startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { newNamespace } from '../../../test/support/namespace';
import { answerJson, stubToken } from '../../../test/support/stub-service';
import { testTemporalAddress } from '../../../test/support/temporal';
import { fileconvProcess as fileconv, linesOf, newFolder, parseJson, permissionsHold, startProcess } from './fileconv';
import { envOfRig } from './running-stack';

const schema = z.object({
  ok: z.boolean(),
  findings: z.array(z.object({ part: z.string(), status: z.string(), says: z.string(), fix: z.string().optional() })),
});
const key = { FILECONV_CALLBACKS_KEY_ENV: 'HOOK_KEY', HOOK_KEY: 'a-key-from-a-variable-0123456789-abcdef' };
const nowhere = 'http://127.0.0.1:1';

describe('fileconv doctor', () => {
  let rig: ConversionRig;
  let cwd: string;
  let healthy: Record<string, string>;

  beforeEach(async () => {
    rig = await startRig();
    cwd = await newFolder();
    rig.stub.fail('task/response', 404, 'NO_CONNECTOR_DEPENDENT_TASK');
    healthy = envOfRig(rig, 'billing');
  });
  afterEach(() => rig.close());

  /** The broken parts, and the message and advice of the first. */
  async function examine(env: Record<string, string | undefined>) {
    const ended = await fileconv(['doctor', '--json'], { cwd, env: { ...healthy, ...env } });
    const { ok, findings } = schema.parse(parseJson(ended.stdout));
    expect(ended.code).toBe(ok ? 0 : 1);
    expect(ended.stdout + ended.stderr).not.toContain(stubToken);
    const broken = findings.filter(({ status }) => status === 'broken');
    return { parts: broken.map(({ part }) => part), says: broken[0]?.says, fix: broken[0]?.fix, findings };
  }

  const recordOf = (apps: string[]) => ({
    pid: process.pid,
    startedBy: 'up' as const,
    since: new Date().toISOString(),
    temporal: { address: testTemporalAddress(), namespace: 'default' },
    service: { url: nowhere },
    taskQueue: rig.taskQueue,
    apps,
  });

  it('reports every part as ok and exits with 0', async () => {
    const env = { ...healthy, FILECONV_TEMPORAL_UI_URL: 'https://temporal.example.com/' };
    const ended = await fileconv(['doctor'], { cwd, env });
    expect(linesOf(ended.stdout)).toEqual([
      expect.stringMatching(
        /^ok {7}Temporal: 127\.0\.0\.1:\d+, server \d+\.[\d.]+, UI https:\/\/temporal\.example\.com$/,
      ),
      'ok       namespace: default',
      'ok       search attributes: all 9 are registered',
      expect.stringMatching(/^ok {7}workers: 1 on task queue test-/),
      `ok       service of app billing: ${rig.stub.url} answers and accepts the token`,
      'ok       callbacks: not configured (callbacks.public_base_url): jobs poll',
      expect.stringMatching(/^ok {7}disk: .* free for /),
    ]);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(rig.stub.requests).toHaveLength(1);
  });

  it('lists the engines of the embedded service, and whether conversions can reach the network', async () => {
    const { findings } = await examine({ FILECONV_DEFAULT_APP: undefined });
    const says = (name: string) => findings.find(({ part }) => part === name)?.says;
    expect(says('engines')).toMatch(/sharp \d.*pandoc-wasm \d/);
    expect(says('confinement')).toMatch(/^conversions (reach no network|could reach the network)/);
    expect((await examine({ FILECONV_SERVICE_ENGINES: 'sharp' })).findings.some(({ part }) => part === 'engines')).toBe(
      false,
    );
  });

  it('reports an unreachable Temporal, and still checks the rest', async () => {
    const found = await examine({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(found.parts).toEqual(['Temporal']);
    expect(found.fix).toContain('correct the address (TEMPORAL_ADDRESS)');
    expect(found.findings.find(({ part }) => part === 'service of app billing')?.status).toBe('ok');
    expect(found.findings.find(({ part }) => part === 'workers')?.status).toBe('skipped');
  });

  it('tells in a new folder what to start, once for each part, and where another stack of this user runs', async () => {
    const fresh = { TEMPORAL_ADDRESS: undefined, FILECONV_DEFAULT_APP: undefined };
    const found = await examine(fresh);
    expect(found.parts).toEqual(['Temporal', 'service of app embedded']);
    expect(found.says).toBe(`No stack runs in ${cwd}/.fileconv`);
    expect(found.fix).toMatch(/^Start one \(fileconv up\), or set TEMPORAL_ADDRESS to a Temporal that runs/);
    const [, service] = found.findings.filter(({ status }) => status === 'broken');
    expect(service?.fix).toMatch(/^Start it \(fileconv up, or fileconv service\)/);
    const other = path.join(await newFolder(), '.fileconv');
    await mkdir(other);
    await writeStackRecord(other, recordOf(['embedded']));
    const own = path.join(cwd, 'config');
    await mkdir(path.join(own, 'fileconv'), { recursive: true });
    await writeFile(path.join(own, 'fileconv/last-stack'), other);
    const elsewhere = await examine({ ...fresh, XDG_CONFIG_HOME: own });
    expect(elsewhere.fix).toContain(`One runs in ${other}: run the command in its folder`);
  });

  it('reports an app that was configured after the stack was started, and how to make its worker know it', async () => {
    const state = path.join(cwd, 'state');
    await mkdir(state);
    await writeStackRecord(state, recordOf(['embedded']));
    const env = { TEMPORAL_ADDRESS: undefined, FILECONV_STATE_DIR: state };
    const found = await examine(env);
    expect(found.parts).toEqual(['app billing at the worker']);
    expect(found.fix).toContain('fileconv up');
    await writeStackRecord(state, recordOf(['embedded', 'billing']));
    expect((await examine(env)).parts).toEqual([]);
  });

  it('reports a namespace that does not exist', async () => {
    const found = await examine({ TEMPORAL_NAMESPACE: 'no-such' });
    expect(found).toMatchObject({ parts: ['namespace'], says: 'Temporal has no namespace no-such' });
    expect(found.fix).toContain(
      `temporal operator namespace create --address ${testTemporalAddress()} --namespace no-such`,
    );
  });

  it('reports missing search attributes, and one of the wrong type', async () => {
    const namespace = await newNamespace(rig.temporal);
    const missing = await examine({ TEMPORAL_NAMESPACE: namespace });
    expect(missing.parts).toEqual(['search attributes', 'workers']);
    expect(missing.says).toContain('missing: ConversionStatus, ConversionApp');
    expect(missing.fix).toContain('fileconv namespace init');
    const searchAttributes: Record<string, number> = { ConversionApp: 1 };
    await rig.temporal.connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    expect((await examine({ TEMPORAL_NAMESPACE: namespace })).says).toMatch(
      /ConversionApp .* has type Text, not Keyword/,
    );
  });

  it('reports jobs of a program with its own codec as unreadable, and still checks the rest', async () => {
    const namespace = await newNamespace(rig.temporal);
    const encode = (payloads: Payload[]) =>
      Promise.resolve(payloads.map((payload) => ({ ...payload, metadata: { encoding: Buffer.from('binary/own') } })));
    const dataConverter = { payloadCodecs: [{ encode, decode: encode }] };
    const client = new Client({ connection: rig.temporal.connection, namespace, dataConverter });
    const job = { workflowId: 'own', taskQueue: 'own', staticSummary: 'a.md → pdf' };
    await client.workflow.start('conversionJob', { ...job, args: [] });
    await until('it is listed', async () => (await client.workflow.count("WorkflowType = 'conversionJob'")).count > 0);
    const { findings } = await examine({ TEMPORAL_NAMESPACE: namespace });
    expect(findings.find(({ part }) => part === 'encryption')).toMatchObject({
      status: 'broken',
      says: "the newest job can't be read: Unknown encoding: binary/own",
    });
    expect(findings.at(-1)?.part).toBe('disk');
  });

  it('says that workers on several hosts are taken to have different folders', async () => {
    const ending = new AbortController();
    const { namespace } = rig.temporal.options;
    const request = { namespace, taskQueue: { name: rig.taskQueue }, identity: '1@another-host' };
    const poll = rig.temporal.withAbortSignal(ending.signal, () =>
      rig.temporal.withDeadline(Date.now() + 60_000, () => rig.temporal.workflowService.pollWorkflowTaskQueue(request)),
    );
    poll.catch(() => undefined);
    const workers = async () => (await examine({})).findings.find(({ part }) => part === 'workers')?.says;
    await until('it is seen', async () => (await workers())?.includes('another-host') === true);
    expect(await workers()).toContain('worker.shared_files');
    ending.abort();
  });

  it('reports a task queue that no worker polls', async () => {
    const found = await examine({ FILECONV_WORKER_TASK_QUEUE: 'nobody-polls' });
    expect(found.parts).toEqual(['workers']);
    expect(found.says).toContain('nobody-polls');
    expect(found.fix).toContain('fileconv worker');
  });

  it.each([
    ["can't be reached", { FILECONV_APPS_BILLING_BASE_URL: nowhere }, undefined, /can't be reached at/, /base_url/],
    ['refuses the token', {}, [403, 'INVALID_CREDENTIAL'], /INVALID_CREDENTIAL/, /App ID and the token of app billing/],
    [
      'knows no such form of App ID',
      {},
      [400, 'WRONG_VALUE_DATA_KEY', 'The data key app has the wrong value.'],
      /data key app/,
      /App ID and the token of app billing/,
    ],
    ['is at another path', {}, [404, 'NOT_FOUND'], /NOT_FOUND/, /base_url/],
    ['is down', {}, [503, 'INTERNAL_SERVER_ERROR'], /INTERNAL_SERVER_ERROR/, /Is http.* a conversion service/],
    [
      'has no token here',
      { FILECONV_APPS_BILLING_TOKEN: undefined, FILECONV_APPS_BILLING_TOKEN_ENV: 'NO_TOKEN' },
      undefined,
      /NO_TOKEN/,
      /fileconv config show/,
    ],
  ] as const)('reports a service that %s', async (_what, env, answer, says, fix) => {
    if (answer) {
      const [status, code, message = 'No.'] = answer;
      const refusal = { result: { output: {}, error: { code, message }, warning: {} } };
      rig.stub.on('task/response', (_seen, response) => answerJson(response, status, refusal));
    }
    const found = await examine(env);
    expect(found.parts).toEqual(['service of app billing']);
    expect(found.says).toMatch(says);
    expect(found.fix).toMatch(fix);
  });

  it('reports a service that turns requests away', async () => {
    rig.stub.fail('task/response', 429, 'TOO_MANY_REQUESTS', { 'retry-after': '90' });
    const found = await examine({});
    expect(found.parts).toEqual(['service of app billing']);
    expect(found.says).toContain('wait 90 s');
  });

  it.each(['public', 'embedded'])(
    'sends a signed callback to the %s URL, and distinguishes a different key from a missing receiver',
    async (kind) => {
      const env = { ...healthy, ...key, FILECONV_CALLBACKS_PORT: '0' };
      const receiver = startProcess(['callbacks', '--json'], { cwd, env });
      const { url } = z.object({ url: z.string() }).parse(await receiver.untilJson());
      const at = (baseUrl: string) => ({ ...key, [`FILECONV_CALLBACKS_${kind.toUpperCase()}_BASE_URL`]: baseUrl });
      const good = await examine(at(url));
      expect(good.findings.find(({ part }) => part === 'callbacks')?.says).toBe(`${url} accepts signed callbacks`);
      const otherKey = await examine({ ...at(url), HOOK_KEY: 'another-key-0123456789-0123456789-0123' });
      expect(otherKey).toMatchObject({ parts: ['callbacks'], says: expect.stringContaining('another key') as string });
      const other = await examine(at(rig.stub.url));
      expect(other).toMatchObject({ parts: ['callbacks'], says: expect.stringContaining('HTTP 404') as string });
      await receiver.end('SIGTERM');
      const gone = await examine(at(url));
      expect(gone.parts).toEqual(['callbacks']);
      expect(gone.fix).toMatch(new RegExp(`fileconv callbacks.* callbacks\\.${kind}_base_url:`));
    },
  );

  it("reports a receiver that can't reach Temporal, and a missing key", async () => {
    const receiver = createServer((_request, response) => response.writeHead(503).end()).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const { port } = receiver.address() as AddressInfo;
    const env = { ...key, FILECONV_CALLBACKS_PUBLIC_BASE_URL: `http://127.0.0.1:${port}` };
    const cutOff = await examine(env);
    const noKey = await examine({ ...env, HOOK_KEY: undefined });
    receiver.close();
    expect(cutOff.parts).toEqual(['callbacks']);
    expect(cutOff.fix).toContain('TEMPORAL_ADDRESS where the receiver runs');
    expect(noKey).toMatchObject({ parts: ['callbacks'], says: expect.stringContaining('HOOK_KEY') as string });
    expect(noKey.fix).toContain('callbacks.key_file');
  });

  it('reports a full disk', async () => {
    const found = await examine({ FILECONV_SERVICE_MIN_FREE_BYTES: String(Number.MAX_SAFE_INTEGER) });
    expect(found.parts).toEqual(['disk']);
    expect(found.says).toContain('less than service.min_free_bytes');
  });

  it('also checks the disk of the service', async () => {
    const dataDir = path.join(await newFolder(), 'files');
    const least = { FILECONV_SERVICE_MIN_FREE_BYTES: String(Number.MAX_SAFE_INTEGER) };
    const found = await examine({ ...least, FILECONV_SERVICE_DATA_DIR: dataDir });
    expect(found.parts).toEqual(['disk', 'disk']);
    const last = found.findings.at(-1);
    expect(last?.says).toContain(dataDir);
    expect(last?.fix).toContain('FILECONV_SERVICE_DATA_DIR');
  });

  (permissionsHold ? it : it.skip)('names the state folder that cannot be written', async () => {
    const folder = path.join(cwd, 'sealed');
    await mkdir(folder);
    await chmod(folder, 0o555);
    const found = await examine({ FILECONV_STATE_DIR: path.join(folder, 'state') });
    expect(found.parts).toEqual(['disk']);
    expect(found.fix).toContain(`chmod u+w '${folder}'`);
  });
});
