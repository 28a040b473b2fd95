import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import type { Ended } from '../../packages/cli/test/fileconv';
import { SecretTraces } from '../support/secret-traces';
import { StackFolder, type StackProcess } from '../support/stack-process';
import { answerCompleted, answerJson, cut, startStubService, type StubService } from '../support/stub-service';

/**
 * Real jobs through the real stack, each with a different end, with services that repeat the token in everything they say. Then everything
 * that the run has left behind is searched.
 */

/** Contains characters that every encoding changes. */
const token = 'Secret+Token/4711=do~not?tell';
const traces = new SecretTraces(token);

const freePortNobodyListensOn = 1;

/** The behaviour of each app's service. */
const services: Record<string, (stub: StubService) => void> = {
  happy: (stub) =>
    stub.on('task/response', ({ connector: id }, response) => {
      answerJson(response, 200, {
        result: {
          output: {
            entity: { id, status: 'completed', vcredits: 1 },
            result: {
              output: { connector: id, status: 'successful', duration: 1 },
              error: {},
              warning: { [`NOTE`]: `converted for ${token}` },
            },
          },
          error: {},
          warning: {},
        },
      });
    }),
  denied: (stub) => stub.on('upload/file', (_seen, response) => refuse(response, 401, 'INVALID_CREDENTIAL')),
  shut: (stub) => {
    for (const endpoint of ['format/get', 'convert/graph', 'convert/formats']) {
      stub.on(endpoint, (_seen, response) => refuse(response, 401, 'INVALID_CREDENTIAL'));
    }
  },
  unknown: (stub) => stub.on('convert/file', (_seen, response) => cut(response)),
  broken: (stub) =>
    stub.on('task/response', (seen, response) =>
      answerCompleted(response, seen.connector, {
        error: { code: 'FAILED_CONVERT', message: `the file of ${token} is damaged` },
      }),
    ),
  odd: (stub) => stub.complete({ status: `done for ${token}` }),
  gibberish: (stub) =>
    stub.on('upload/file', (_seen, response) => {
      response.writeHead(502, `refused ${token}`, { 'content-type': 'text/html' });
      response.end(`<h1>no gateway for Bearer ${token}</h1>`);
    }),
  elsewhere: (stub) =>
    stub.on('download/url/get', (_seen, response) => {
      response.writeHead(302, {
        location: `http://127.0.0.1:${freePortNobodyListensOn}/?for=${encodeURIComponent(token)}`,
      });
      response.end();
    }),
};

describe('the token of an app', () => {
  let folder: StackFolder;
  let stack: StackProcess;
  let embeddedTraces: SecretTraces;
  const stubs: StubService[] = [];
  const commands: (Ended & { command: string })[] = [];
  const workflowIds: string[] = [];
  const failures: unknown[] = [];

  async function run(command: string, env: Record<string, string> = {}): Promise<Ended> {
    const outcome = await folder.run(command.split(' '), env);
    commands.push({ command, ...outcome });
    return outcome;
  }

  beforeAll(async () => {
    const apps: Record<string, string> = { down: `http://127.0.0.1:${freePortNobodyListensOn}` };
    for (const [app, arrange] of Object.entries(services)) {
      const stub = await startStubService();
      arrange(stub);
      stubs.push(stub);
      apps[app] = stub.url;
    }
    folder = await StackFolder.create(apps, token);
    await writeFile(path.join(folder.path, 'a.md'), '# A');
    await writeFile(path.join(folder.path, 'shared.token'), token, { mode: 0o644 });
    stack = await folder.up();
    const embeddedToken = await readFile(path.join(folder.path, '.fileconv/service/embedded-app.token'), 'utf8');
    embeddedTraces = new SecretTraces(embeddedToken.trim());

    const convert = 'convert a.md --to pdf --on-unknown-outcome fail';
    // Otherwise these would be retried for a day.
    const deadlines: Record<string, Record<string, string>> = {
      gibberish: { FILECONV_POLICIES_UPLOAD_DEADLINE: '3s' },
      elsewhere: { FILECONV_POLICIES_DOWNLOAD_DEADLINE: '3s' },
    };
    await Promise.all([
      ...[...Object.keys(services), 'down'].map((app) =>
        run(`${convert} --app ${app} --out out/${app}`, deadlines[app]),
      ),
      run(`${convert} --app happy --out out/json --json`),
      run(`${convert} --app denied --out out/denied-json --json`),
    ]);
    await run('convert a.md --to html --out out/embedded');
    // Unlike other clients, `convert` looks for the service first.
    await stack.withClient(async (client) => {
      const source = path.join(folder.path, 'a.md');
      const job = client.convert({ app: 'down', source, output: 'pdf', policies: { uploadDeadline: 3_000 } });
      await job.catch((error: unknown) => failures.push(error));
    });
    await run('config show');
    await run('config show --json');
    await run('formats --app shut');
    await run('formats --app shut --json');
    await run('config show', {
      FILECONV_APPS_DIRECT_BASE_URL: apps['happy'] ?? '',
      FILECONV_APPS_DIRECT_APP_ID: 'a',
      FILECONV_APPS_DIRECT_TOKEN: token,
    });
    await run('formats --app filed', {
      FILECONV_APPS_FILED_BASE_URL: apps['happy'] ?? '',
      FILECONV_APPS_FILED_APP_ID: 'a',
      FILECONV_APPS_FILED_TOKEN_FILE: 'shared.token',
    });
    await run('formats --app spaced', {
      FILECONV_APPS_SPACED_BASE_URL: apps['happy'] ?? '',
      FILECONV_APPS_SPACED_APP_ID: 'a',
      FILECONV_APPS_SPACED_TOKEN: `${token} ${token}`,
    });
    await run('config show', { FILECONV_APPS_HAPPY_TOKNE: token, FILECONV_TOKEN: token });
  });

  afterAll(async () => {
    await folder.remove();
    await Promise.all(stubs.map((stub) => stub.close()));
  });

  it('was used by the jobs, which ended in every way', async () => {
    const exitCodes = Object.fromEntries(
      commands.flatMap(({ command, code }) => {
        const [, app] = /--app (\w+) --out out\/(?!.*json)/.exec(command) ?? [];
        return app === undefined ? [] : [[app, code]];
      }),
    );
    expect(exitCodes).toEqual({
      happy: 0,
      denied: 1,
      shut: 1,
      unknown: 1,
      broken: 1,
      odd: 1,
      gibberish: 1,
      elsewhere: 1,
      down: 1,
    });
    const said = commands.map(({ stdout, stderr }) => stdout + stderr).join('\n');
    for (const code of ['INVALID_CREDENTIAL', 'FAILED_CONVERT', 'NOTE']) expect(said).toContain(code);
    expect(said).toContain('not known whether the conversion runs');
    await stack.withClient(async (_client, temporal) => {
      for await (const { workflowId } of temporal.workflow.list()) workflowIds.push(workflowId);
    });
    expect(workflowIds.length).toBeGreaterThanOrEqual(10);
    expect(failures).toHaveLength(1);
  });

  it('is in no history, memo, search attribute or query answer', async () => {
    const found: string[] = [];
    await stack.withClient(async (_client, temporal) => {
      for (const workflowId of workflowIds) {
        const handle = temporal.workflow.getHandle(workflowId);
        const told = {
          history: await handle.fetchHistory(),
          description: await handle.describe(),
          state: await handle.query('conversionState'),
          details: await handle.query('__temporal_workflow_metadata'),
        };
        expect(told.history.events?.length).toBeGreaterThan(3);
        const form = traces.findInValue(told) ?? embeddedTraces.findInValue(told);
        if (form !== undefined) found.push(`${workflowId}: ${form}`);
      }
    });
    expect(found).toEqual([]);
  });

  it('is in nothing that a command prints', () => {
    const leaks = commands.filter(({ stdout, stderr }) => {
      const printed = stdout + stderr;
      return traces.find(printed) ?? embeddedTraces.find(printed);
    });
    expect(leaks.map(({ command, stdout, stderr }) => `${command}: ${stdout}${stderr}`)).toEqual([]);
    expect(failures.map((error) => traces.findInValue(describeError(error)))).toEqual([undefined]);
  });

  it('is in no log, database or other file, neither while the stack runs nor afterwards', async () => {
    const state = path.join(folder.path, '.fileconv');
    expect(await readdir(state, { recursive: true })).toEqual(
      expect.arrayContaining([
        'temporal.db',
        'service/service.db',
        'logs/worker.log',
        'logs/service.log',
        'logs/temporal.log',
      ]),
    );
    const own = [path.join(folder.path, 'shared.token'), path.join(state, 'service', 'embedded-app.token')];
    const search = async () => [
      ...(await traces.findInFolder(folder.path, own)),
      ...(await embeddedTraces.findInFolder(folder.path, own)),
    ];
    expect([await search(), await stack.interrupt(), await search()]).toEqual([[], 0, []]);
    expect(traces.find(stack.output) ?? embeddedTraces.find(stack.output)).toBeUndefined();
  });
});

it('the search for a token finds it in a file, a database and a payload, in every encoding', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-traces-'));
  const db = new Database(path.join(folder, 'a.db'));
  db.exec('CREATE TABLE t (x)');
  db.prepare('INSERT INTO t VALUES (?)').run(`before ${token} after`);
  db.close();
  await writeFile(path.join(folder, 'raw.log'), `Bearer ${token}\n`);
  await writeFile(path.join(folder, 'url.log'), `?t=${encodeURIComponent(token)}`);
  for (const offset of [0, 1, 2]) {
    await writeFile(
      path.join(folder, `base64-${offset}.log`),
      Buffer.from(`${'x'.repeat(offset)}${token}y`).toString('base64'),
    );
  }
  await writeFile(path.join(folder, 'clean.log'), 'nothing');
  expect((await traces.findInFolder(folder)).sort()).toEqual([
    'a.db: as it is',
    'base64-0.log: in base64',
    'base64-1.log: in base64',
    'base64-2.log: in base64',
    'raw.log: as it is',
    'url.log: URL-encoded',
  ]);
  expect(traces.findInValue({ payloads: [{ data: Buffer.from(JSON.stringify({ a: token })) }] })).toBe('as it is');
  expect(traces.findInValue({ message: Buffer.from(`x${token}`).toString('base64') })).toBe('in base64');
  expect(traces.findInValue({ payloads: [{ data: Buffer.from('{}') }] })).toBeUndefined();
});

/** A refusal that repeats the token, which some services do. */
function refuse(response: ServerResponse, status: number, code: string): void {
  const error = { code, message: `Authorization "Bearer ${token}" is not known.` };
  answerJson(response, status, { result: { output: {}, error, warning: {} } }, { 'x-seen': token });
}

/** All properties of an error, including its causes. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const properties = Object.getOwnPropertyNames(error).map((name) => [name, Reflect.get(error, name) as unknown]);
  return { ...(Object.fromEntries(properties) as object), cause: describeError(error.cause) };
}
