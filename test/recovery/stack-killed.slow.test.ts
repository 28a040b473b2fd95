import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Database from 'libsql';
import { endpoints } from '../../src/contract/endpoints';
import { listZip, longMarkdown } from '../../packages/service/test/support';
import { begunDownloads } from '../support/begun-downloads';
import { sha256 } from '../storage/folder';
import { quickPolicies } from '../support/conversion-worker';
import { StackFolder, stackRoles, type StackProcess } from '../support/stack-process';
import { startStubService, type StubService } from '../support/stub-service';
import { until } from '../support/until';

/** `fileconv up` and its Temporal as real processes, and their recovery after `kill -9`. */

describe('fileconv up', () => {
  let folder: StackFolder;
  const stubs: Record<string, StubService> = {};

  beforeEach(async () => {
    for (const app of ['uploading', 'downloading', 'answerless']) stubs[app] = await startStubService();
    folder = await StackFolder.create(Object.fromEntries(Object.entries(stubs).map(([app, { url }]) => [app, url])));
  });

  afterEach(async () => {
    await folder.remove();
    await Promise.all(Object.values(stubs).map((stub) => stub.close()));
  });

  function stubOf(app: string): StubService {
    const stub = stubs[app];
    if (!stub) throw new Error(`There is no stub ${app}.`);
    return stub;
  }

  /** Starts a job that has an output folder to itself. */
  async function startJob(
    stack: StackProcess,
    app: string,
    job: { name: string; contents: string | Buffer; output: string },
  ): Promise<string> {
    // A unique name: overwriting a source while another job uploads it would change that job's source.
    const source = path.join(folder.path, `${app}-${job.name}`);
    await writeFile(source, job.contents);
    await mkdir(outFolder(app), { recursive: true });
    const destination = path.join(outFolder(app), `${app}.${job.output}`);
    return stack.withClient(async (client) => {
      return (await client.start({ app, source, output: job.output, destination, policies: quickPolicies })).workflowId;
    });
  }

  const outFolder = (app: string) => path.join(folder.path, 'out', app);
  const resultOf = (stack: StackProcess, workflowId: string) =>
    stack.withClient((client) => client.get(workflowId).result());

  /** Number of conversions that the embedded service has received. */
  function embeddedConversions(): number {
    const db = new Database(path.join(folder.path, '.fileconv', 'service', 'service.db'), { readonly: true });
    const row = db.prepare('SELECT count(*) AS n FROM tasks WHERE endpoint = ?').get(endpoints.convertFile);
    db.close();
    return (row as { n: number }).n;
  }

  it('continues every job after kill -9 of all its processes including Temporal, and spends no conversion twice', async () => {
    const before = await folder.up();
    const uploading = stubOf('uploading');
    let uploadHasBegun = false;
    uploading.onArrival('upload/file', async (request) => {
      if (uploadHasBegun) return;
      await new Promise((resolve) => request.once('readable', resolve));
      uploadHasBegun = true;
      await new Promise((resolve) => request.once('close', resolve));
    });
    const downloading = stubOf('downloading');
    downloading.output = Buffer.alloc(6 * 1024 ** 2, 'PK');
    downloading.first('download/url/get', (response) => {
      response.writeHead(200, { 'content-length': downloading.output.length });
      response.write(downloading.output.subarray(0, 1024 ** 2));
    });
    const answerless = stubOf('answerless');
    answerless.first('convert/file', () => undefined);

    const binary = { name: 'source.bin', contents: randomBytes(16 * 1024 ** 2), output: 'pdf' };
    const ids = {
      embedded: await startJob(before, 'embedded', { name: 'long.md', contents: longMarkdown(60), output: 'docx' }),
      uploading: await startJob(before, 'uploading', binary),
      downloading: await startJob(before, 'downloading', binary),
      answerless: await startJob(before, 'answerless', binary),
    };
    await until('the embedded service converts', () => embeddedConversions() === 1);
    await until('the upload streams', () => uploadHasBegun);
    await until('the download streams', async () => {
      const [partial] = await begunDownloads(outFolder('downloading'));
      return partial !== undefined && (await stat(path.join(outFolder('downloading'), partial))).size >= 1024 ** 2;
    });
    await until('the submit waits for its answer', () => answerless.count('convert/file') === 1);
    await folder.kill(...stackRoles);
    expect(await folder.roles()).toEqual([]);

    const after = await folder.up();
    for (const app of ['uploading', 'downloading'] as const) {
      expect(await resultOf(after, ids[app])).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
      expect([stubOf(app).count('convert/file'), await readdir(outFolder(app))]).toEqual([1, [`${app}.pdf`]]);
      expect(sha256(await readFile(path.join(outFolder(app), `${app}.pdf`)))).toBe(sha256(stubOf(app).output));
    }
    expect(await resultOf(after, ids.answerless)).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
    expect(answerless.count('convert/file')).toBe(2);

    expect(await resultOf(after, ids.embedded)).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect([embeddedConversions(), await readdir(outFolder('embedded'))]).toEqual([1, ['embedded.docx']]);
    expect(listZip(await readFile(path.join(outFolder('embedded'), 'embedded.docx')))).toContain('word/document.xml');

    expect([await after.interrupt(), await folder.roles()]).toEqual([0, []]);
    expect(existsSync(path.join(folder.path, '.fileconv', 'stack.json'))).toBe(false);
  });

  it('restarts Temporal when it is killed, and the jobs continue', async () => {
    const stack = await folder.up();
    const uploading = stubOf('uploading');
    const held = uploading.hold();
    const id = await startJob(stack, 'uploading', { name: 'a.md', contents: 'a', output: 'pdf' });
    await until('the job polls', () => uploading.count('task/response') > 0);
    await folder.kill('temporal');
    await until('it runs again', async () => (await folder.roles()).length === 2);
    expect(stack.output).toContain('Temporal stopped by itself; it is being restarted');
    held.letGo();
    expect(await resultOf(stack, id)).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect([uploading.count('convert/file'), await stack.interrupt()]).toEqual([1, 0]);
    expect(await folder.roles()).toEqual([]);
  });

  it('can be restarted at once after kill -9 of the main process alone, and leaves one Temporal', async () => {
    await folder.up();
    await folder.kill('up');
    const second = await folder.up();
    const id = await startJob(second, 'embedded', { name: 'a.md', contents: '# A', output: 'html' });
    expect(await resultOf(second, id)).toMatchObject({ status: 'succeeded' });
    expect([await folder.roles(), await second.interrupt()]).toEqual([[...stackRoles], 0]);
    expect(await folder.roles()).toEqual([]);
  });
});
