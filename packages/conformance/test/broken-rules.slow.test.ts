import { randomUUID } from 'node:crypto';
import { type Capability, type Outcome, runRules } from '../src';
import { isObject } from '../src/reply';
import { type Alteration, startAlteringProxy } from './altering-proxy';
import { errorOf, isEmpty, monitored, onError, part, setCode } from './answer-parts';
import { type EmbeddedTarget, startEmbeddedTarget } from './embedded-target';

/** The suite against a service that breaks rules on purpose: it has to name those, and no other. */

let running: EmbeddedTarget;

beforeAll(async () => {
  running = await startEmbeddedTarget();
});

afterAll(() => running.stop());

interface Breach {
  readonly section: string;
  readonly rule: string;
  readonly alter: Alteration;
}

/** Breaches that don't touch each other, in one run. */
const together: (readonly [what: string, breaches: readonly Breach[]])[] = [
  [
    'of requests',
    [
      {
        section: 'Data keys',
        rule: 'mode is a string: anything else is of the wrong type',
        alter: (answer) => {
          const { mode } = answer.asked.data;
          if (mode !== undefined && typeof mode !== 'string') setCode(answer, 'WRONG_VALUE_DATA_KEY');
        },
      },
      {
        section: 'Authentication',
        rule: 'In development, a file that is not registered is refused with ONLY_DEVELOPMENT_REQUEST (403) when it is uploaded',
        alter: (answer) => {
          if (answer.asked.path === 'v1/upload/file' && errorOf(answer)['code'] === 'ONLY_DEVELOPMENT_REQUEST') {
            setCode(answer, 'ONLY_DEVELOPMENT_FILE');
            answer.status = 200;
          }
        },
      },
      {
        section: 'States',
        rule: 'A task on hold has created_at, and neither started_at nor completed_at',
        alter: (answer) => {
          const entity = part(monitored(answer), 'entity');
          entity['started_at'] ??= entity['created_at'];
        },
      },
      {
        section: 'Beyond: download',
        rule: 'url is the absolute address of download/url/get',
        alter: ({ json }) => {
          const output = part(json, 'result', 'output');
          if ('url' in output) output['url'] = '/v1/download/url/get';
        },
      },
    ],
  ],
  [
    'of refusals',
    [
      {
        section: 'Task response body',
        rule: 'A refused request is a task too: include counts for its answer, and the entity is that of a task to ask for',
        alter: ({ json, asked }) => {
          if (json && asked.data['mode'] === 'later') {
            const { code, message } = json;
            delete json['entity'];
            json['result'] ??= { output: {}, error: { code, message }, warning: {} };
          }
        },
      },
      {
        section: 'Endpoints',
        rule: 'A request that cannot be read as HTTP is answered in that shape too',
        alter: (answer) => {
          if (answer.asked.method === '') answer.json = { statusCode: 400, error: 'Bad Request' };
        },
      },
      {
        section: 'convert/file',
        rule: 'Its connector comes from the output of an upload task; another task is refused',
        alter: (answer) => {
          const { path, data } = answer.asked;
          if (path !== 'v1/convert/file' || errorOf(answer)['code'] !== 'MISMATCH_DEPENDENT_TASK') return;
          const output = { connector: data['connector'], status: 'successful', duration: 0 };
          Object.assign(answer, { status: 200, json: { result: { output, error: {}, warning: {} } } });
        },
      },
    ],
  ],
  [
    'of the top level',
    [
      {
        section: 'Endpoints',
        rule: 'A request with any other method fails with POST_METHOD_ALLOWED',
        alter: (answer) => {
          if (answer.asked.method === 'HEAD') answer.status = 200;
        },
      },
      {
        section: 'Beyond: requests',
        rule: 'A refusal at 4xx has its code and message at the top level too',
        alter: ({ json, asked }) => {
          if (part(json, 'result', 'error')['code'] !== undefined && asked.method !== '') {
            delete json?.['code'];
            delete json?.['message'];
          }
        },
      },
    ],
  ],
  [
    'of entities and limits',
    [
      {
        section: 'Entity keys',
        rule: 'completed_at is the time the status became completed, as YYYY-MM-DD HH:MM:SS',
        alter: ({ json }) => delete part(json, 'entity')['completed_at'],
      },
      {
        section: 'Entity keys',
        rule: 'created_at is the time the status became hold, as YYYY-MM-DD HH:MM:SS',
        alter: ({ json }) => {
          const entity = part(json, 'entity');
          if (typeof entity['created_at'] === 'string') entity['created_at'] = entity['created_at'].replace(' ', 'T');
        },
      },
      {
        section: 'Entity keys',
        rule: 'id equals the connector that the task produces',
        alter: ({ json }) => {
          if ('connector' in part(json, 'result', 'output')) part(json, 'entity')['id'] = randomUUID();
        },
      },
      {
        section: 'Entity keys',
        rule: 'endpoint is the path of the task with its version segment',
        alter: ({ json }) => {
          const entity = part(json, 'entity');
          if (typeof entity['endpoint'] === 'string') entity['endpoint'] = `/${entity['endpoint']}`;
        },
      },
      {
        section: 'Entity keys',
        rule: 'vcredits is present when a task consumes vCredits and completes successfully',
        alter: ({ json }) => delete part(json, 'entity')['vcredits'],
      },
      {
        section: 'Limits',
        rule: 'Every response carries X-RATELIMIT-RESET, the seconds until the limit resets',
        alter: (answer) => {
          if (answer.status === 405) delete answer.headers['x-ratelimit-reset'];
        },
      },
      {
        section: 'Limits',
        rule: 'RETRY-AFTER comes only with the 429 error',
        alter: (answer) => {
          if (answer.status === 404) answer.headers['retry-after'] = '1';
        },
      },
      {
        section: 'Limits',
        rule: 'X-RATELIMIT-RESET has the value of RETRY-AFTER when the limit is exceeded',
        alter: (answer) => {
          if (answer.status === 429) answer.headers['x-ratelimit-reset'] = '77';
        },
      },
    ],
  ],
  [
    'of errors',
    [
      {
        section: 'Errors',
        rule: 'FILE_NOT_EXISTS is answered with HTTP 404',
        alter: onError('FILE_NOT_EXISTS', (answer) => {
          answer.status = 410;
        }),
      },
      {
        section: 'Errors',
        rule: 'POST_METHOD_ALLOWED is answered with HTTP 405',
        alter: onError('POST_METHOD_ALLOWED', (answer) => {
          answer.status = 404;
        }),
      },
      {
        section: 'Endpoints',
        rule: 'A request with any other method fails with POST_METHOD_ALLOWED',
        alter: (answer) => {
          if (answer.asked.method === 'DELETE') errorOf(answer)['code'] = 'NOT_FOUND';
        },
      },
      {
        section: 'Errors',
        rule: 'In messages, [NAME] is replaced by the name of the offending key, field or parameter',
        alter: onError('MISSING_REQUIRED_PARAMETER', (answer) => {
          errorOf(answer)['message'] = 'The parameter [NAME] is required.';
        }),
      },
      {
        section: 'Result keys',
        rule: 'error is an empty object when there is no error',
        alter: (answer) => {
          if (answer.asked.path === 'v1/download/url' && isEmpty(errorOf(answer)))
            delete part(answer.json, 'result')['error'];
        },
      },
    ],
  ],
  [
    'of what include selects, and of monitoring',
    [
      {
        section: 'Task response body',
        rule: 'payload is exactly what was sent in the field data',
        alter: ({ json }) => {
          const payload = part(json, 'payload');
          if (isObject(payload['parameters'])) payload['parameters'] = { ...payload['parameters'], added: true };
        },
      },
      {
        section: 'Task response body',
        rule: 'entity, payload and result are present when include asks for them, and only then',
        alter: ({ json, asked }) => {
          if (json && Array.isArray(asked.data['include']) && isObject(json['result'])) json['payload'] ??= asked.data;
        },
      },
      {
        section: 'Data keys',
        rule: 'include is ["result"] by default',
        alter: ({ json, asked }) => {
          if (
            json &&
            asked.data['include'] === undefined &&
            asked.path === 'v1/task/response' &&
            isEmpty(errorOf({ json }))
          )
            json['payload'] = asked.data;
        },
      },
      {
        section: 'task/response',
        rule: 'The HTTP status is 200, also when the monitored task failed',
        alter: (answer) => {
          if (!isEmpty(part(monitored(answer), 'result', 'error'))) answer.status = 400;
        },
      },
      {
        section: 'Beyond: task/response',
        rule: 'The monitored result of a task that is not completed holds nothing: it is null or empty',
        alter: (answer) => {
          const task = monitored(answer);
          if (part(task, 'entity')['status'] === 'running') task['result'] = { output: {}, error: {}, warning: {} };
        },
      },
      {
        section: 'Output of convert-file',
        rule: 'status is successful after a conversion that was',
        alter: ({ json, asked }) => {
          const output = part(json, 'result', 'output');
          if (asked.path === 'v1/convert/file' && 'status' in output) output['status'] = 'success';
        },
      },
    ],
  ],
  [
    'that the service, or this suite, once took for right',
    [
      {
        section: 'Data keys',
        rule: 'include is an array of strings: anything else is of the wrong type',
        alter: (answer) => {
          const { include } = answer.asked.data;
          if (Array.isArray(include) && include.includes(5)) setCode(answer, 'WRONG_VALUE_DATA_KEY');
        },
      },
      {
        section: 'task/response',
        rule: 'parameters.include is an array of strings: anything else is of the wrong type',
        alter: (answer) => {
          if (errorOf(answer)['code'] === 'WRONG_TYPE_PARAMETER' && answer.asked.path === 'v1/task/response') {
            setCode(answer, 'WRONG_VALUE_PARAMETER');
          }
        },
      },
      {
        section: 'Beyond: formats',
        rule: 'convert/formats requires sublist, and takes inputs and outputs only',
        alter: (answer) => {
          if (part(answer.asked.data, 'parameters')['sublist'] === 5) setCode(answer, 'WRONG_VALUE_PARAMETER');
        },
      },
      {
        section: 'States',
        rule: 'A running task has created_at and started_at',
        alter: (answer) => {
          const entity = part(monitored(answer), 'entity');
          if (entity['status'] === 'running') delete entity['started_at'];
        },
      },
      {
        section: 'Beyond: convert/file',
        rule: 'An accepted async conversion answers running, also when it has to wait',
        alter: ({ json }) => {
          const entity = part(json, 'entity');
          if (entity['status'] === 'running') entity['status'] = 'hold';
        },
      },
      {
        section: 'Limits',
        rule: 'Every response carries X-RATELIMIT-LIMIT, the most requests in a window',
        alter: (answer) => {
          if (answer.asked.method === '') delete answer.headers['x-ratelimit-limit'];
        },
      },
      {
        section: 'Beyond: formats',
        rule: 'convert/graph answers is_match false, and no error, for known formats without a converter',
        alter: ({ json }) => {
          const output = part(json, 'result', 'output');
          if ('is_match' in output) output['is_match'] = true;
        },
      },
      {
        section: 'Beyond: requests',
        rule: 'A path without a version means the latest one',
        alter: (answer) => {
          if (!/^v\d/i.test(answer.asked.path) && answer.asked.method === 'POST') setCode(answer, 'NOT_FOUND');
        },
      },
    ],
  ],
];

together.push([
  'that look right',
  [
    {
      section: 'Endpoints',
      rule: 'A request with any other method fails with POST_METHOD_ALLOWED',
      alter: (answer) => {
        if (answer.asked.method === 'OPTIONS') Object.assign(answer, { status: 204, json: undefined });
      },
    },
    {
      section: 'Data keys',
      rule: 'connector is not sent to upload tasks, which start jobs',
      alter: (answer) => {
        const { path, data } = answer.asked;
        if (path !== 'v1/upload/file' || !('connector' in data)) return;
        const output = { connector: randomUUID(), name: 'a.png', size: 1, expires_at: '2030-01-01 00:00:00' };
        Object.assign(answer, { status: 200, json: { result: { output, error: {}, warning: {} } } });
      },
    },
    {
      section: 'Entity keys',
      rule: 'vcredits is absent or 0 while a task is not completed',
      alter: (answer) => {
        const entity = part(monitored(answer), 'entity');
        if (['hold', 'running'].includes(String(entity['status']))) entity['vcredits'] = 3;
      },
    },
    {
      section: 'Entity keys',
      rule: 'id is unique',
      alter: ({ json }) => {
        const entity = part(json, 'entity');
        if (entity['endpoint'] === 'v1/task/response') entity['id'] = '5a0a3b9e-7a5c-4a8e-9d53-0d3a1a3a3a3a';
      },
    },
    {
      section: 'Task response body',
      rule: 'payload is exactly what was sent in the field data',
      alter: ({ json }) => {
        if (json && isObject(json['payload'])) {
          json['payload'] = Object.fromEntries(Object.entries(json['payload']).sort().reverse());
        }
      },
    },
    {
      section: 'Limits',
      rule: 'Every response carries X-RATELIMIT-RESET, the seconds until the limit resets',
      alter: ({ headers }) => {
        if ('x-ratelimit-reset' in headers) headers['x-ratelimit-reset'] = String(Math.ceil(Date.now() / 1_000) + 60);
      },
    },
  ],
]);

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

it.each(together)('breaches %s, each by its name', async (_what, breaches) => {
  const alterAll: Alteration = (answer) => breaches.forEach(({ alter }) => alter(answer));
  const failed = failedIn(
    await runAltered(
      alterAll,
      breaches.map(({ rule }) => needsOf(rule)),
    ),
  );
  expect(failed.sort()).toEqual(breaches.map(({ section, rule }) => [section, rule]).sort());
});

/** Of a rule that waits for something to expire. */
function needsOf(rule: string): Capability | undefined {
  if (rule.startsWith('FILE_NOT_EXISTS')) return 'shortUploadsApp';
  return rule.endsWith('when the limit is exceeded') ? 'rateLimitedApp' : undefined;
}

it('RETRY-AFTER that is missing on a 429 is named, with what can no longer be seen as not decided', async () => {
  const outcomes = await runAltered(({ headers }) => delete headers['retry-after'], slow);
  expect(failedIn(outcomes)).toEqual([
    ['Limits', 'RETRY-AFTER is present when the limit is exceeded, in whole seconds'],
  ]);
  const undecided = outcomes.filter(({ status, why }) => status === 'skipped' && why === 'RETRY-AFTER is missing');
  expect(undecided).toHaveLength(2);
});

it('a service that asks some endpoints for no token is told which', async () => {
  const { token } = running.target;
  const open = ['v1/convert/file', 'v1/download/url/get'];
  const proxy = await startAlteringProxy(
    running.target.baseUrl,
    () => undefined,
    (path) => (open.includes(path) ? `Bearer ${token}` : undefined),
  );
  const outcomes = await runRules({ ...running.target, baseUrl: proxy.url, capabilities: {} });
  await proxy.close();
  const failed = outcomes.filter(({ status }) => status === 'fail');
  expect(failed.map(({ rule, why }) => [rule, why])).toEqual([
    [
      'A request without an Authorization header is refused, on every endpoint',
      `what takes no Authorization header is ${JSON.stringify(open)}, not []`,
    ],
    [
      'A header other than Bearer with the app token is refused',
      `what takes Authorization: Bearer wrong-token is ${JSON.stringify(open)}, not []`,
    ],
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
])('one breach of polling, a task that is %s, is one rule', async (_what, alter, rule) => {
  const outcomes = await runAltered(alter, []);
  expect(failedIn(outcomes)).toEqual([['States', rule]]);
  const others = outcomes.filter(({ why }) => why?.startsWith('another rule found what this one needs broken'));
  expect(others.length).toBeGreaterThan(0);
});

it('nothing is named when nothing is altered', async () => {
  expect(failedIn(await runAltered(() => undefined, slow))).toEqual([]);
});
