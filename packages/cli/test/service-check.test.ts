import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import { rules } from '../../conformance/src';
import { startAlteringProxy } from '../../conformance/test/altering-proxy';
import { type EmbeddedTarget, startEmbeddedTarget } from '../../conformance/test/embedded-target';
import { fileconv, linesOf, newFolder, parseJson, removeFolders } from './fileconv';

/** `fileconv service check`, as its own process, against a service of the test's. */

let running: EmbeddedTarget;
let folder: string;

beforeAll(async () => {
  running = await startEmbeddedTarget();
  folder = await newFolder();
});

afterAll(async () => {
  await running.stop();
  await removeFolders();
});

function check(args: readonly string[]) {
  return fileconv(['service', 'check', ...args], { cwd: folder, env: { APP_TOKEN: running.target.token } });
}

function target(baseUrl = running.target.baseUrl): string[] {
  return ['--base-url', baseUrl, '--app', running.target.appId];
}

const reportSchema = z.object({
  baseUrl: z.string(),
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  rules: z.array(
    z.object({
      section: z.string(),
      source: z.string().regex(/^(document|page|client|inferred): \S/),
      rule: z.string(),
      status: z.string(),
      why: z.string().optional(),
      beyond: z.boolean(),
    }),
  ),
});

describe('against a service that keeps to the document', () => {
  it('lists every rule with its section, ends with 0, and says what the skipped ones need', async () => {
    const ended = await check([...target(), '--token-env', 'APP_TOKEN']);
    expect(ended.code).toBe(0);
    const [head, ...lines] = linesOf(ended.stdout);
    expect(head).toMatch(/^RESULT +SOURCE +RULE +WHY$/);
    expect(lines).toHaveLength(rules.length);
    expect(lines).toContainEqual(
      expect.stringMatching(/^pass +document: Versioning +The API version is the first path segment/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^skipped +.* needs an app without a premium plan$/));
    expect(ended.stderr).toMatch(/\d+ of \d+ rules checked at http:.*: \d+ passed, 0 failed\./);
    expect(ended.stderr).toMatch(/\d+ need .*an app without a premium plan \(\d+\).*Name them with --with/);
  });

  it('prints one JSON document with --json; warns when others can read the file with the token', async () => {
    const file = path.join(folder, 'token');
    await writeFile(file, `${running.target.token}\n`);
    await chmod(file, 0o644);
    const ended = await check(['--json', ...target(), '--token-file', file]);
    const report = reportSchema.parse(parseJson(ended.stdout));
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain(`chmod 600 ${file}`);
    expect(report.rules).toHaveLength(rules.length);
    expect(report.passed + report.skipped).toBe(rules.length);
    expect(report.rules.filter(({ status, why }) => status === 'skipped' && why === undefined)).toEqual([]);
  });
});

describe('accounts that some rules need', () => {
  it('are named by their profiles, and the rules are checked', async () => {
    const { freePlanApp, smallUploadsApp } = running.target.capabilities ?? {};
    const apps = { free: freePlanApp, small: smallUploadsApp };
    const tables = Object.entries(apps).map(
      ([name, app]) => `[apps.${name}]\nbase_url = "${running.target.baseUrl}"\napp_id = "${app?.appId}"\n`,
    );
    await writeFile(path.join(folder, 'apps.toml'), tables.join('\n'));
    const tokens = Object.entries(apps).map(([name, app]) => [`FILECONV_APPS_${name.toUpperCase()}_TOKEN`, app?.token]);
    const env = { APP_TOKEN: running.target.token, ...(Object.fromEntries(tokens) as Record<string, string>) };
    const named = ['--with', 'free-plan-app=free', 'small-uploads-app=small:1024', 'other-version=v2'];
    const args = ['service', 'check', ...target(), '--token-env', 'APP_TOKEN', '--config', 'apps.toml', ...named];
    const ended = await fileconv(args, { cwd: folder, env });
    expect(ended.stderr).not.toMatch(/premium plan|small upload limit|another version/);
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringMatching(/pass .*FREE_PLAN_DISALLOWED is answered/)]);
  });

  it.each(['rate-limited-app=free', 'second-app=free:5', 'any-app=free', 'second-app'])(
    '--with %s is wrong usage',
    async (given) => {
      const ended = await check([...target(), '--token-env', 'APP_TOKEN', '--with', given]);
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('rate-limited-app=PROFILE:NUMBER')]);
    },
  );
});

describe('against a service that breaks a rule', () => {
  it('ends with 1, names the rule, says what came instead, and never prints an echoed token', async () => {
    const { token, baseUrl } = running.target;
    const proxy = await startAlteringProxy(baseUrl, ({ json }) => {
      const entity = json?.['entity'];
      if (typeof entity === 'object' && entity !== null) Object.assign(entity, { type: `task of ${token}` });
    });
    try {
      const ended = await check([...target(proxy.url), '--token-env', 'APP_TOKEN']);
      expect(ended.code).toBe(1);
      const failed = linesOf(ended.stdout).filter((line) => line.startsWith('fail'));
      expect(failed).toEqual([
        expect.stringMatching(/^fail +document: Entity keys +type is task +.*"task of \[token\]"/),
      ]);
      expect(ended.stdout + ended.stderr).not.toContain(token);
    } finally {
      await proxy.close();
    }
  });
});

describe('what keeps it from checking', () => {
  it.each([
    [['--base-url', 'http://127.0.0.1:1'], 'App ID'],
    [['--base-url', 'ftp://127.0.0.1', '--app', 'x', '--token-env', 'APP_TOKEN'], 'http or https'],
    [['--base-url', 'http://127.0.0.1:1', '--app', 'x'], '--token-env NAME'],
    [['--base-url', 'http://127.0.0.1:1', '--app', 'x', '--token', 'a', '--token-env', 'APP_TOKEN'], 'in one way'],
    [['--base-url', 'http://127.0.0.1:1', '--app', 'x', '--token-env', 'NO_SUCH'], 'NO_SUCH is not set'],
    [['--base-url', 'http://api.example.com', '--app', 'x', '--token-env', 'APP_TOKEN'], '--allow-plain-http'],
    [['--token-env', 'APP_TOKEN'], 'goes with --base-url'],
    [['--app', 'nobody'], 'no app profile called "nobody"'],
  ])('%j is wrong usage', async (args, message) => {
    const ended = await check(args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toContain(running.target.token);
  });

  it('is a service that is not there', async () => {
    const ended = await check([...target('http://127.0.0.1:1'), '--token-env', 'APP_TOKEN']);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('no conversion service to check at http://127.0.0.1:1');
  });

  it('is something else that listens there', async () => {
    const server = createServer((_request, response) => response.end('<html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ended = await check([...target(url), '--token-env', 'APP_TOKEN']);
    server.close();
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('not the answer of such a service');
  });

  it('is a token that the service does not know; one that is typed shows in the process list, and in no output', async () => {
    const ended = await check([...target(), '--token', 'another-token']);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('process list');
    expect(ended.stderr).toContain('INVALID_CREDENTIAL');
    expect(ended.stderr).not.toContain('another-token');
  });
});
