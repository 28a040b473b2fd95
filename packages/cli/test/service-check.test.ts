import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { rules } from '../../conformance/src';
import { startAlteringProxy } from '../../conformance/test/altering-proxy';
import { type EmbeddedTarget, startEmbeddedTarget } from '../../conformance/test/embedded-target';
import { fileconv, linesOf, newFolder, parseJson } from './fileconv';

/** `fileconv service check` against a service of the test. */

let running: EmbeddedTarget;
let folder: string;

beforeAll(async () => {
  running = await startEmbeddedTarget();
  folder = await newFolder();
});

afterAll(() => running.stop());

/** Uses the app profile `mine`. */
function check(args: readonly string[] = [], { baseUrl = running.target.baseUrl, token = running.target.token } = {}) {
  const env = {
    FILECONV_APPS_MINE_BASE_URL: baseUrl,
    FILECONV_APPS_MINE_APP_ID: running.target.appId,
    FILECONV_APPS_MINE_TOKEN: token,
  };
  return fileconv(['service', 'check', '--app', 'mine', ...args], { cwd: folder, env });
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
    }),
  ),
});

describe('against a service that follows the document', () => {
  it('lists every rule with its section, exits with 0, and says what the skipped rules need', async () => {
    const ended = await check();
    expect(ended.code).toBe(0);
    const [head, ...lines] = linesOf(ended.stdout);
    expect(head).toMatch(/^RESULT +SOURCE +RULE +WHY$/);
    expect(lines).toHaveLength(rules.length);
    expect(lines).toContainEqual(
      expect.stringMatching(/^pass +document: Versioning +The API version is the first path segment/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^skipped +.* needs an app without a premium plan$/));
    expect(ended.stderr).toMatch(/\d+ of \d+ rules checked at http:.*: \d+ passed, 0 failed\./);
    expect(ended.stderr).toContain('The column WHY says what the others need.');
  });

  it('prints one JSON document with --json', async () => {
    const ended = await check(['--json']);
    const report = reportSchema.parse(parseJson(ended.stdout));
    expect(ended.code).toBe(0);
    expect(report.rules).toHaveLength(rules.length);
    expect(report.passed + report.skipped).toBe(rules.length);
    expect(report.rules.filter(({ status, why }) => status === 'skipped' && why === undefined)).toEqual([]);
  });
});

it('exits with 1 for a broken rule, names it, shows the wrong answer, and never prints an echoed token', async () => {
  const { token, baseUrl } = running.target;
  const proxy = await startAlteringProxy(baseUrl, ({ json }) => {
    const entity = json?.['entity'];
    if (typeof entity === 'object' && entity !== null) Object.assign(entity, { type: `task of ${token}` });
  });
  try {
    const ended = await check([], { baseUrl: proxy.url });
    expect(ended.code).toBe(1);
    expect(linesOf(ended.stdout).filter((line) => line.startsWith('fail'))).toEqual([
      expect.stringMatching(/^fail +document: Entity keys +type is task +.*"task of \[token\]"/),
    ]);
    expect(ended.stdout + ended.stderr).not.toContain(token);
  } finally {
    await proxy.close();
  }
});

it('masks an echoed token before it shortens the answer, wherever the cut falls', async () => {
  const token = 'token-of-the-app-4711';
  let answers = 0;
  const server = createServer((request, response) => {
    request.resume();
    answers += 1;
    response.end(JSON.stringify({ said: `${'x'.repeat(120 + (answers % 80))}${token}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = await check(['--json'], { baseUrl, token });
  server.close();
  expect(ended.code).toBe(1);
  expect(ended.stdout).toContain('x[token]');
  expect(ended.stdout).not.toContain(token.slice(0, 6));
});

describe('a check that cannot run', () => {
  it('names a service that is not there', async () => {
    const ended = await check([], { baseUrl: 'http://127.0.0.1:1' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('no conversion service to check at http://127.0.0.1:1');
  });

  it('names a server that is no conversion service', async () => {
    const server = createServer((_request, response) => response.end('<html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ended = await check([], { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    server.close();
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('not the answer of such a service');
  });

  it('names a token that the service does not know', async () => {
    const ended = await check([], { token: 'another-token' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('INVALID_CREDENTIAL');
    expect(ended.stderr).not.toContain('another-token');
  });
});
