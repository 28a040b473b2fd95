import { randomUUID } from 'node:crypto';
import { type Capability, type Outcome, rules, runRules } from '../../src/conformance';
import { isObject } from '../../src/conformance/reply';
import { type Alteration, type Answer, startAlteringProxy } from './altering-proxy';
import { type EmbeddedTarget, startEmbeddedTarget } from './embedded-target';

/** The suite against a service that breaks one rule on purpose: it has to name that rule, and no other. */

let running: EmbeddedTarget;

beforeAll(async () => {
  running = await startEmbeddedTarget();
});

afterAll(() => running.stop());

/** The object under a key, as something to change; a fresh one that nobody sees when there is none. */
function part(holder: Record<string, unknown> | undefined, ...keys: string[]): Record<string, unknown> {
  let found: unknown = holder;
  for (const key of keys) found = isObject(found) ? found[key] : undefined;
  return isObject(found) ? found : {};
}

function errorOf({ json }: Pick<Answer, 'json'>): Record<string, unknown> {
  return part(json, 'result', 'error');
}

/** The monitored task in an answer to task/response. */
function monitored({ json }: Answer): Record<string, unknown> {
  return part(json, 'result', 'output');
}

function isEmpty(value: Record<string, unknown>): boolean {
  return Object.keys(value).length === 0;
}

function onError(code: string, alter: Alteration): Alteration {
  return (answer) => {
    if (errorOf(answer)['code'] === code) alter(answer);
  };
}

const broken: [string, string, Alteration][] = [
  [
    'Entity keys',
    'completed_at is the time the status became completed, as YYYY-MM-DD HH:MM:SS',
    ({ json }) => delete part(json, 'entity')['completed_at'],
  ],
  [
    'Entity keys',
    'created_at is the time the status became hold, as YYYY-MM-DD HH:MM:SS',
    ({ json }) => {
      const entity = part(json, 'entity');
      if (typeof entity['created_at'] === 'string') entity['created_at'] = entity['created_at'].replace(' ', 'T');
    },
  ],
  [
    'Entity keys',
    'id equals the connector that the task produces',
    ({ json }) => {
      if ('connector' in part(json, 'result', 'output')) part(json, 'entity')['id'] = randomUUID();
    },
  ],
  [
    'Entity keys',
    'endpoint is the path of the task with its version segment',
    ({ json }) => {
      const entity = part(json, 'entity');
      if (typeof entity['endpoint'] === 'string') entity['endpoint'] = `/${entity['endpoint']}`;
    },
  ],
  [
    'Entity keys',
    'vcredits is present when a task consumes vCredits and completes successfully',
    ({ json }) => delete part(json, 'entity')['vcredits'],
  ],
  [
    'Errors',
    'FILE_NOT_EXISTS is answered with HTTP 404',
    onError('FILE_NOT_EXISTS', (answer) => {
      answer.status = 410;
    }),
  ],
  [
    'Errors',
    'POST_METHOD_ALLOWED is answered with HTTP 405',
    onError('POST_METHOD_ALLOWED', (answer) => {
      answer.status = 404;
    }),
  ],
  [
    'Endpoints',
    'A request with any other method fails with POST_METHOD_ALLOWED',
    (answer) => {
      if (answer.asked.method === 'DELETE') errorOf(answer)['code'] = 'NOT_FOUND';
    },
  ],
  [
    'Errors',
    'In messages, [NAME] is replaced by the name of the offending key, field or parameter',
    onError('MISSING_REQUIRED_PARAMETER', (answer) => {
      errorOf(answer)['message'] = 'The parameter [NAME] is required.';
    }),
  ],
  [
    'Result keys',
    'error is an empty object when there is no error',
    (answer) => {
      if (answer.asked.path === 'v1/download/url' && isEmpty(errorOf(answer)))
        delete part(answer.json, 'result')['error'];
    },
  ],
  [
    'Task response body',
    'payload is exactly what was sent in the field data',
    ({ json }) => {
      const payload = part(json, 'payload');
      if (isObject(payload['parameters'])) payload['parameters'] = { ...payload['parameters'], added: true };
    },
  ],
  [
    'Task response body',
    'entity, payload and result are present when include asks for them, and only then',
    ({ json, asked }) => {
      if (json && Array.isArray(asked.data['include']) && isObject(json['result'])) json['payload'] ??= asked.data;
    },
  ],
  [
    'Data keys',
    'include is ["result"] by default',
    ({ json, asked }) => {
      if (
        json &&
        asked.data['include'] === undefined &&
        asked.path === 'v1/task/response' &&
        isEmpty(errorOf({ json }))
      )
        json['payload'] = asked.data;
    },
  ],
  [
    'Limits',
    'Every response carries X-RATELIMIT-RESET, the seconds until the limit resets',
    (answer) => {
      if (answer.status === 405) delete answer.headers['x-ratelimit-reset'];
    },
  ],
  [
    'Limits',
    'RETRY-AFTER comes only with the 429 error',
    (answer) => {
      if (answer.status === 404) answer.headers['retry-after'] = '1';
    },
  ],
  [
    'Limits',
    'X-RATELIMIT-RESET has the value of RETRY-AFTER when the limit is exceeded',
    (answer) => {
      if (answer.status === 429) answer.headers['x-ratelimit-reset'] = '77';
    },
  ],
  [
    'task/response',
    'The HTTP status is 200, also when the monitored task failed',
    (answer) => {
      if (!isEmpty(part(monitored(answer), 'result', 'error'))) answer.status = 400;
    },
  ],
  [
    'Beyond: task/response',
    'The result of a monitored task that is not completed is an empty object',
    (answer) => {
      const task = monitored(answer);
      if (part(task, 'entity')['status'] === 'running') task['result'] = { output: {}, error: {}, warning: {} };
    },
  ],
  [
    'Output of convert-file',
    'status is successful after a conversion that was',
    ({ json, asked }) => {
      const output = part(json, 'result', 'output');
      if (asked.path === 'v1/convert/file' && 'status' in output) output['status'] = 'success';
    },
  ],
];

/** Rules that wait for something to expire; with them each run takes five seconds. */
const slow: readonly Capability[] = ['shortUploadsApp', 'shortDownloadsApp', 'rateLimitedApp'];

/** Runs the suite against the altered service. `CONFORMANCE_FULL=1` checks the slow rules each time. */
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

function failedIn(outcomes: readonly Outcome[]): string[][] {
  return outcomes.filter(({ status }) => status === 'fail').map(({ section, rule }) => [section, rule]);
}

it.each(broken)('%s: %s', async (section, rule, alter) => {
  const needs = rules.find((each) => each.rule === rule)?.needs;
  expect(failedIn(await runAltered(alter, [needs]))).toEqual([[section, rule]]);
});

it('RETRY-AFTER that is missing on a 429 is named, with what can no longer be seen as not decided', async () => {
  const outcomes = await runAltered(({ headers }) => delete headers['retry-after'], slow);
  expect(failedIn(outcomes)).toEqual([
    ['Limits', 'RETRY-AFTER is present when the limit is exceeded, in whole seconds'],
  ]);
  const undecided = outcomes.filter(({ status, why }) => status === 'skipped' && why === 'RETRY-AFTER is missing');
  expect(undecided).toHaveLength(2);
});

it('nothing is named when nothing is altered', async () => {
  expect(failedIn(await runAltered(() => undefined, slow))).toEqual([]);
});
