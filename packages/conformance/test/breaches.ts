import { isObject } from 'temporal-file-conversion/contract';
import { randomUUID } from 'node:crypto';
import type { Alteration } from './altering-proxy';
import { errorOf, isEmpty, monitored, onError, part, setCode } from './answer-parts';

/** The id that one of the breaches gives to every task of monitoring. */
let firstMonitor: unknown;

/** For each rule, an alteration that breaks it in the answers of a correct service; one run tests a whole group. */
export const together: Record<string, Record<string, Alteration>> = {
  'of requests': {
    'mode is a string: anything else is of the wrong type': (answer) => {
      const { mode } = answer.asked.data;
      if (mode !== undefined && typeof mode !== 'string') setCode(answer, 'WRONG_VALUE_DATA_KEY');
    },
    'In development, a file that is not registered is refused with ONLY_DEVELOPMENT_REQUEST (403) when it is uploaded':
      (answer) => {
        if (answer.asked.path === 'v1/upload/file' && errorOf(answer)['code'] === 'ONLY_DEVELOPMENT_REQUEST') {
          setCode(answer, 'ONLY_DEVELOPMENT_FILE');
          answer.status = 200;
        }
      },
    'A task on hold has created_at, and neither started_at nor completed_at': (answer) => {
      const entity = part(monitored(answer), 'entity');
      entity['started_at'] ??= entity['created_at'];
    },
    'url is the absolute address of download/url/get': ({ json }) => {
      const output = part(json, 'result', 'output');
      if ('url' in output) output['url'] = '/v1/download/url/get';
    },
  },
  'of refusals': {
    'A refused request is a task too: include counts for its answer, and the entity is that of a task to ask for': ({
      json,
      asked,
    }) => {
      if (json && asked.data['mode'] === 'later') {
        const { code, message } = json;
        delete json['entity'];
        json['result'] ??= { output: {}, error: { code, message }, warning: {} };
      }
    },
    'A request that cannot be read as HTTP is answered in that shape too': (answer) => {
      if (answer.asked.method === '') answer.json = { statusCode: 400, error: 'Bad Request' };
    },
    'Its connector comes from the output of an upload task; another task is refused': (answer) => {
      const { path, data } = answer.asked;
      if (path !== 'v1/convert/file' || errorOf(answer)['code'] !== 'MISMATCH_DEPENDENT_TASK') return;
      const output = { connector: data['connector'], status: 'successful', duration: 0 };
      Object.assign(answer, { status: 200, json: { result: { output, error: {}, warning: {} } } });
    },
  },
  'of the top level': {
    'A request with any other method fails with POST_METHOD_ALLOWED': (answer) => {
      if (answer.asked.method === 'HEAD') answer.status = 200;
    },
    'A refusal at 4xx has its code and message at the top level too': ({ json, asked }) => {
      if (part(json, 'result', 'error')['code'] !== undefined && asked.method !== '') {
        delete json?.['code'];
        delete json?.['message'];
      }
    },
  },
  'of entities and limits': {
    'completed_at is the time the status became completed, as YYYY-MM-DD HH:MM:SS': ({ json }) =>
      delete part(json, 'entity')['completed_at'],
    'created_at is the time the status became hold, as YYYY-MM-DD HH:MM:SS': ({ json }) => {
      const entity = part(json, 'entity');
      if (typeof entity['created_at'] === 'string') entity['created_at'] = entity['created_at'].replace(' ', 'T');
    },
    'id equals the connector that the task produces': ({ json }) => {
      if ('connector' in part(json, 'result', 'output')) part(json, 'entity')['id'] = randomUUID();
    },
    'endpoint is the path of the task with its version segment': ({ json }) => {
      const entity = part(json, 'entity');
      if (typeof entity['endpoint'] === 'string') entity['endpoint'] = `/${entity['endpoint']}`;
    },
    'vcredits is present when a task consumes vCredits and completes successfully': ({ json }) =>
      delete part(json, 'entity')['vcredits'],
    'Every response carries X-RATELIMIT-REMAINING, the requests still allowed in the window': ({ asked, headers }) => {
      if (asked.path === 'v1/convert/file') delete headers['x-ratelimit-remaining'];
    },
    'Every response carries X-RATELIMIT-RESET, the seconds until the limit resets': (answer) => {
      if (answer.status === 405) delete answer.headers['x-ratelimit-reset'];
    },
    'RETRY-AFTER comes only with the 429 error': (answer) => {
      if (answer.status === 404) answer.headers['retry-after'] = '1';
    },
    'X-RATELIMIT-RESET has the value of RETRY-AFTER when the limit is exceeded': (answer) => {
      if (answer.status === 429) answer.headers['x-ratelimit-reset'] = '77';
    },
  },
  'of errors': {
    'FILE_NOT_EXISTS is answered with HTTP 404': onError('FILE_NOT_EXISTS', (answer) => (answer.status = 410)),
    'POST_METHOD_ALLOWED is answered with HTTP 405': onError('POST_METHOD_ALLOWED', (answer) => (answer.status = 404)),
    'A request with any other method fails with POST_METHOD_ALLOWED': (answer) => {
      if (answer.asked.method === 'DELETE') errorOf(answer)['code'] = 'NOT_FOUND';
    },
    'In messages, [NAME] is replaced by the name of the offending key, field or parameter': onError(
      'MISSING_REQUIRED_PARAMETER',
      (answer) => void (errorOf(answer)['message'] = 'The parameter [NAME] is required.'),
    ),
    'error is an empty object when there is no error': (answer) => {
      if (answer.asked.path === 'v1/download/url' && isEmpty(errorOf(answer)))
        delete part(answer.json, 'result')['error'];
    },
  },
  'of what include selects, and of monitoring': {
    'payload is exactly what was sent in the field data': ({ json }) => {
      const payload = part(json, 'payload');
      if (isObject(payload['parameters'])) payload['parameters'] = { ...payload['parameters'], added: true };
    },
    'entity, payload and result are present when include asks for them, and only then': ({ json, asked }) => {
      if (json && Array.isArray(asked.data['include']) && isObject(json['result'])) json['payload'] ??= asked.data;
    },
    'include is ["result"] by default': ({ json, asked }) => {
      if (
        json &&
        asked.data['include'] === undefined &&
        asked.path === 'v1/task/response' &&
        isEmpty(errorOf({ json }))
      )
        json['payload'] = asked.data;
    },
    'The HTTP status is 200, also when the monitored task failed': (answer) => {
      if (!isEmpty(part(monitored(answer), 'result', 'error'))) answer.status = 400;
    },
    'The monitored result of a task that is not completed holds nothing: it is null or empty': (answer) => {
      const task = monitored(answer);
      if (part(task, 'entity')['status'] === 'running') task['result'] = { output: {}, error: {}, warning: {} };
    },
    'status is successful after a conversion that was': ({ json, asked }) => {
      const output = part(json, 'result', 'output');
      if (asked.path === 'v1/convert/file' && 'status' in output) output['status'] = 'success';
    },
  },
  'that the service, or this suite, once took for right': {
    'include is an array of strings: anything else is of the wrong type': (answer) => {
      const { include } = answer.asked.data;
      if (Array.isArray(include) && include.includes(5)) setCode(answer, 'WRONG_VALUE_DATA_KEY');
    },
    'parameters.include is an array of strings: anything else is of the wrong type': (answer) => {
      if (errorOf(answer)['code'] === 'WRONG_TYPE_PARAMETER' && answer.asked.path === 'v1/task/response') {
        setCode(answer, 'WRONG_VALUE_PARAMETER');
      }
    },
    'convert/formats requires sublist, and takes inputs and outputs only': (answer) => {
      if (part(answer.asked.data, 'parameters')['sublist'] === 5) setCode(answer, 'WRONG_VALUE_PARAMETER');
    },
    'A running task has created_at and started_at': (answer) => {
      const entity = part(monitored(answer), 'entity');
      if (entity['status'] === 'running') delete entity['started_at'];
    },
    'An accepted async conversion answers running, also when it has to wait': ({ json }) => {
      const entity = part(json, 'entity');
      if (entity['status'] === 'running') entity['status'] = 'hold';
    },
    'A request that cannot be read as HTTP is answered in that shape too': (answer) => {
      if (answer.asked.method === '') delete answer.headers['x-ratelimit-limit'];
    },
    'convert/graph answers is_match false, and no error, for known formats without a converter': ({ json }) => {
      const output = part(json, 'result', 'output');
      if ('is_match' in output) output['is_match'] = true;
    },
    'A path without a version means the latest one': (answer) => {
      if (!/^v\d/i.test(answer.asked.path) && answer.asked.method === 'POST') setCode(answer, 'NOT_FOUND');
    },
  },
  'of what one kind of answer lacks': {
    'output is an object': ({ json, status }) => {
      if (status >= 400) part(json, 'result')['output'] = null;
    },
    'warning is an empty object when there are no warnings': ({ json, status }) => {
      if (status >= 400) delete part(json, 'result')['warning'];
    },
    'error holds a code and a message when the task failed': onError(
      'MISSING_REQUIRED_DATA_KEY',
      (answer) => delete errorOf(answer)['message'],
    ),
    'A refused request is a task too: include counts for its answer, and the entity is that of a task to ask for': ({
      json,
      status,
    }) => {
      if (status >= 400 && json && 'entity' in json) part(json, 'entity')['status'] = 'running';
    },
    'vcredits is present when a task consumes vCredits and completes successfully': ({ json }) => {
      const entity = part(json, 'entity');
      if ('vcredits' in entity) entity['vcredits'] = 0;
    },
    'The timestamps are in the order of the states': ({ json, asked }) => {
      if (asked.path === 'v1/convert/file') part(json, 'entity')['created_at'] = '2099-01-01 00:00:00';
    },
    'X-RATELIMIT-REMAINING falls with each request of a window, and is below X-RATELIMIT-LIMIT': (answer) => {
      const { asked, headers } = answer;
      if (asked.path === 'v1/upload/file') headers['x-ratelimit-remaining'] = headers['x-ratelimit-limit'];
    },
    'connector is required for v1/convert/status': (answer) => {
      const { method, path, data } = answer.asked;
      if (method === 'POST' && path === 'v1/convert/status' && !('connector' in data))
        setCode(answer, 'NO_CONNECTOR_DEPENDENT_TASK');
    },
    'It returns the response of any task at any time': (answer) => {
      if (part(monitored(answer), 'entity')['endpoint'] === 'v1/task/response')
        setCode(answer, 'MISMATCH_DEPENDENT_TASK');
    },
  },
  'that look right': {
    'A request with any other method fails with POST_METHOD_ALLOWED': (answer) => {
      if (answer.asked.method === 'OPTIONS') Object.assign(answer, { status: 204, json: undefined });
    },
    'connector is not sent to upload tasks, which start jobs': (answer) => {
      const { path, data } = answer.asked;
      if (path !== 'v1/upload/file' || !('connector' in data)) return;
      const output = { connector: randomUUID(), name: 'a.png', size: 1, expires_at: '2030-01-01 00:00:00' };
      Object.assign(answer, { status: 200, json: { result: { output, error: {}, warning: {} } } });
    },
    'vcredits is absent or 0 while a task is not completed': (answer) => {
      const entity = part(monitored(answer), 'entity');
      if (['hold', 'running'].includes(String(entity['status']))) entity['vcredits'] = 3;
    },
    'id is unique': ({ json }) => {
      const entity = part(json, 'entity');
      if (entity['endpoint'] === 'v1/task/response') entity['id'] = firstMonitor ??= entity['id'];
    },
    'payload is exactly what was sent in the field data': ({ json }) => {
      if (json && isObject(json['payload'])) {
        json['payload'] = Object.fromEntries(Object.entries(json['payload']).sort().reverse());
      }
    },
    'Every response carries X-RATELIMIT-RESET, the seconds until the limit resets': ({ headers }) => {
      if ('x-ratelimit-reset' in headers) headers['x-ratelimit-reset'] = String(Math.ceil(Date.now() / 1_000) + 60);
    },
  },
};
