import { closeAll, connectTo, failureOf, sendJson, serve } from './loopback';

afterEach(closeAll);

const error = { code: 'NO_CONNECTOR_DEPENDENT_TASK', message: 'The connector does not belong to any other task.' };
const converted = { output: { connector: 't', status: 'successful', duration: 3 }, error: {}, warning: {} };

describe('an error of the request is thrown', () => {
  it.each([
    ['in result.error', { result: { output: {}, error, warning: {} } }],
    ['in result.error without an output', { result: { error } }],
    ['beside an entity', { entity: { id: 't', status: 'running' }, result: { error } }],
    ['at the top as error', { error }],
    ['at the top as code and message', error],
    ['at the top as error with only a code', { error: error.code }],
  ])('when it is %s, whatever the HTTP status', async (_where, body) => {
    for (const status of [200, 404, 500]) {
      const { baseUrl } = await serve((response) => sendJson(response, body, status));
      const failure = await failureOf(connectTo(baseUrl).downloadUrl({ connector: 'c' }));
      expect(failure).toMatchObject({ code: error.code, httpStatus: status, endpoint: 'v1/download/url' });
    }
  });

  it('with a code of our own if the service gives none', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, { result: { error: { message: 'Broken.' } } }));
    const failure = await failureOf(connectTo(baseUrl).downloadUrl({ connector: 'c' }));
    expect(failure).toMatchObject({ code: 'UNNAMED_ERROR', message: expect.stringContaining('Broken.') as string });
  });

  it('with the endpoint, the code and the message of the service', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, { result: { error } }, 404));
    expect((await failureOf(connectTo(baseUrl).downloadUrl({ connector: 'c' }))).message).toBe(
      'v1/download/url: the service answered NO_CONNECTOR_DEPENDENT_TASK (HTTP 404): The connector does not belong to any other task.',
    );
  });
});

it("a proxy's page about its upload limit is reported as such, with advice", async () => {
  const { baseUrl } = await serve((response) => {
    response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>');
  });
  const failure = await failureOf(connectTo(baseUrl).downloadUrl({ connector: 'c' }));
  expect(failure.code).toBe('HTTP_413');
  expect(failure.message).toContain('something before the service, such as a proxy, limits the size of uploads');
});

it.each([
  ['an empty object', {}],
  ['an absent key', undefined],
  ['null', null],
  ['an empty list', []],
  ['empty texts', { code: '', message: '' }],
])('reads %s as no error', async (_how, none) => {
  const { baseUrl } = await serve((response) =>
    sendJson(response, {
      result: { output: { entity: { status: 'completed' }, result: { ...converted, error: none } }, error: none },
    }),
  );
  const snapshot = await connectTo(baseUrl).taskResponse({ connector: 't' });
  expect(snapshot).toMatchObject({ status: 'completed', outputStatus: 'successful' });
  expect(snapshot.error).toBeUndefined();
});

it('the error of a polled task is returned in the snapshot, since the request itself succeeded', async () => {
  const { baseUrl } = await serve((response) =>
    sendJson(response, {
      result: { output: { entity: { id: 't', status: 'completed' }, result: { output: {}, error } }, error: {} },
    }),
  );
  const snapshot = await connectTo(baseUrl).taskResponse({ connector: 't' });
  expect(snapshot).toEqual({ taskId: 't', status: 'completed', connector: 't', error, warnings: {} });
});
