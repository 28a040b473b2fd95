import { randomUUID } from 'node:crypto';
import { type Capability, type Outcome, runRules } from '../src';
import { type Alteration, type Answer, startAlteringProxy } from './altering-proxy';
import { monitored, part } from './answer-parts';
import { together } from './breaches';
import { type EmbeddedTarget, startEmbeddedTarget } from './embedded-target';

/** The suite against a service that breaks rules on purpose: it must name exactly those. */

let running: EmbeddedTarget;

beforeAll(async () => (running = await startEmbeddedTarget()));
afterAll(() => running.stop());

/** Needed by rules that wait for something to expire; with them each run takes five seconds. */
const slow: readonly Capability[] = ['shortUploadsApp', 'shortDownloadsApp', 'rateLimitedApp'];

/** Runs the suite against the altered service. `CONFORMANCE_FULL=1` includes the slow rules each time. */
async function runAltered(alter: Alteration, needed: readonly (Capability | undefined)[]): Promise<Outcome[]> {
  const { target } = running;
  const proxy = await startAlteringProxy(target.baseUrl, alter);
  const omitted = process.env['CONFORMANCE_FULL'] === '1' ? [] : slow.filter((name) => !needed.includes(name));
  const capabilities = { ...target.capabilities };
  for (const name of omitted) Reflect.deleteProperty(capabilities, name);
  try {
    return await runRules({ ...target, baseUrl: proxy.url, capabilities });
  } finally {
    await proxy.close();
  }
}

const failedIn = (outcomes: readonly Outcome[]): string[][] =>
  outcomes.filter(({ status }) => status === 'fail').map(({ section, rule }) => [section, rule]);

it.each(Object.entries(together))('names exactly the rules broken by breaches %s', async (_what, breaches) => {
  const broken = Object.keys(breaches);
  const alterAll: Alteration = (answer) => Object.values(breaches).forEach((alter) => alter(answer));
  const failed = failedIn(await runAltered(alterAll, broken.map(needsOf)));
  expect(failed.map(([, rule]) => rule).sort()).toEqual(broken.sort());
});

/** The capability needed by a rule that waits for something to expire. */
function needsOf(rule: string): Capability | undefined {
  if (rule.startsWith('FILE_NOT_EXISTS')) return 'shortUploadsApp';
  return rule.endsWith('when the limit is exceeded') ? 'rateLimitedApp' : undefined;
}

it('names a RETRY-AFTER missing on a 429, and marks the rules that depend on it as undecided', async () => {
  const outcomes = await runAltered(({ headers }) => delete headers['retry-after'], slow);
  expect(failedIn(outcomes)).toEqual([
    ['Limits', 'RETRY-AFTER is present when the limit is exceeded, in whole seconds'],
  ]);
  const undecided = outcomes.filter(({ status, why }) => status === 'skipped' && why === 'RETRY-AFTER is missing');
  expect(undecided).toHaveLength(2);
});

it.each([[['v1/convert/file', 'v1/download/url/get']], [['v1/task/response']]])(
  'reports a service that requires no token for %j',
  async (open) => {
    const { token } = running.target;
    const proxy = await startAlteringProxy(
      running.target.baseUrl,
      () => undefined,
      (path) => (open.includes(path) ? `Bearer ${token}` : undefined),
    );
    const outcomes = await runRules({ ...running.target, baseUrl: proxy.url, capabilities: {} });
    await proxy.close();
    expect(outcomes.filter(({ status }) => status === 'fail').map(({ rule, why }) => [rule, why])).toEqual([
      [
        'A request without an Authorization header is refused, on every endpoint',
        `what takes no Authorization header is ${JSON.stringify(open)}, not []`,
      ],
      [
        'A header other than Bearer with the app token is refused',
        `what takes Authorization: Bearer wrong-token is ${JSON.stringify(open)}, not []`,
      ],
    ]);
  },
);

const lookedAt = 'v1/convert/status';

it('checks status and content type of each endpoint', async () => {
  const outcomes = await runAltered((answer) => {
    if (!answer.asked.path.endsWith(lookedAt)) return;
    if (answer.status === 200) answer.status = 201;
    answer.headers['content-type'] = 'text/html';
  }, []);
  expect(outcomes.filter(({ status }) => status === 'fail').map(({ rule, why }) => [rule, why])).toEqual([
    ['Responses are JSON objects in the shape of the task response body', expect.stringContaining(lookedAt)],
    ['Success is HTTP 200', expect.stringContaining(lookedAt)],
  ]);
});

it.each<[string, Alteration, string]>([
  [
    'never completed',
    (answer) => {
      const task = monitored(answer);
      if (part(task, 'payload')['mode'] !== 'async') return;
      part(task, 'entity')['status'] = 'running';
    },
    'A task that finishes well becomes completed',
  ],
  [
    'in a state of its own',
    (answer) => {
      const entity = part(monitored(answer), 'entity');
      if (part(monitored(answer), 'payload')['mode'] === 'async' && entity['status'] === 'completed')
        entity['status'] = 'done';
    },
    'A task that finishes well becomes completed',
  ],
])('reports one rule for a task that is %s', async (_what, alter, rule) => {
  const outcomes = await runAltered(alter, []);
  expect(failedIn(outcomes)).toEqual([['States', rule]]);
  const others = outcomes.filter(({ why }) => why?.startsWith('another rule found what this one needs broken'));
  expect(others.length).toBeGreaterThan(0);
});

function onPath(path: string, change: Alteration): Alteration {
  return (answer) => {
    if (answer.asked.path === path && answer.status === 200) change(answer);
  };
}

const outputOf = ({ json }: Answer) => part(json, 'result', 'output');

it.each<[string, Alteration, string[]]>([
  [
    'download/url without a connector',
    onPath('v1/download/url', (answer) => delete outputOf(answer)['connector']),
    ['The output of download/url holds connector, name, size in bytes, expires_at and url'],
  ],
  [
    'upload/file without a connector',
    onPath('v1/upload/file', (answer) => delete outputOf(answer)['connector']),
    ['The output holds connector, name, size in bytes and expires_at'],
  ],
  [
    'upload/file without a connector and an entity',
    onPath('v1/upload/file', (answer) => {
      delete outputOf(answer)['connector'];
      delete answer.json?.['entity'];
    }),
    ['The output holds connector, name, size in bytes and expires_at'],
  ],
  [
    'convert/file with a connector of no task',
    onPath('v1/convert/file', (answer) => {
      const output = outputOf(answer);
      if ('connector' in output) output['connector'] = randomUUID();
    }),
    ['id equals the connector that the task produces', 'connector is a uuid, and the next task of the job takes it'],
  ],
])('reports no further rules for %s', async (_what, alter, rules) => {
  expect(failedIn(await runAltered(alter, [])).map(([, rule]) => rule)).toEqual(rules);
});

it('names no rule if nothing is altered', async () =>
  expect(failedIn(await runAltered(() => undefined, slow))).toEqual([]));
