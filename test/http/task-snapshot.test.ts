import { closeAll, connectTo, failureOf, readForm, sendJson, serve, token } from './loopback';

afterEach(closeAll);

async function snapshotOf(output: unknown) {
  const { baseUrl } = await serve((response) => sendJson(response, { result: { output, error: {}, warning: {} } }));
  return connectTo(baseUrl).taskResponse({ connector: 't' });
}

describe('taskResponse', () => {
  it('asks for entity and result of the polled task', async () => {
    const { baseUrl, seen } = await serve((response) =>
      sendJson(response, { result: { output: { entity: { id: 't', status: 'running' }, result: {} } } }),
    );
    await connectTo(baseUrl).taskResponse({ connector: 't' });
    const [request] = seen;
    expect(request).toMatchObject({ method: 'POST', url: '/v1/task/response' });
    expect((await readForm(request)).data).toEqual({
      app: expect.any(String) as string,
      connector: 't',
      parameters: { include: ['entity', 'result'] },
    });
  });

  it('reads everything from a successful task', async () => {
    const snapshot = await snapshotOf({
      entity: { id: 't', type: 'task', endpoint: 'v1/convert/file', status: 'completed', vcredits: 2 },
      result: {
        output: { connector: 't', status: 'successful', duration: 4 },
        error: {},
        warning: { LOW_RESOLUTION: 'Use a larger image.', PAGES: { dropped: 2 } },
      },
    });
    expect(snapshot).toEqual({
      taskId: 't',
      status: 'completed',
      connector: 't',
      outputStatus: 'successful',
      warnings: { LOW_RESOLUTION: 'Use a larger image.', PAGES: '{"dropped":2}' },
      vcredits: 2,
      durationSeconds: 4,
    });
  });

  it.each(['hold', 'running', 'paused-for-lunch'])('returns the status %s verbatim', async (status) => {
    expect(await snapshotOf({ entity: { id: 't', status }, result: {} })).toEqual({
      taskId: 't',
      status,
      connector: 't',
      warnings: {},
    });
  });

  it('returns an unknown output status verbatim', async () => {
    const snapshot = await snapshotOf({ entity: { status: 'completed' }, result: { output: { status: 'partly' } } });
    expect(snapshot.outputStatus).toBe('partly');
  });

  it('keeps the token out of every text that it returns', async () => {
    const error = { code: 'FAILED_CONVERT', message: `by ${token}` };
    const snapshot = await snapshotOf({
      entity: { id: 't', status: `for ${token}` },
      result: { output: { status: `Bearer ${token}` }, error, warning: { [token]: { for: token }, W: token } },
    });
    expect(snapshot).toMatchObject({
      ...{ status: 'for [token]', outputStatus: 'Bearer [token]' },
      error: { message: 'by [token]' },
    });
    expect(JSON.stringify(snapshot)).not.toContain(token);
  });

  it('accepts an error code and a warning that are nested too deeply to be stringified', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const monitored = (result: string) =>
      `{"result":{"output":{"entity":{"id":"t","status":"completed"},"result":${result}}}}`;
    const { baseUrl } = await serve((response, { url }) =>
      response.end(
        url.endsWith('convert/file')
          ? `{"result":{"error":{"code":${deep},"message":"no"}}}`
          : monitored(`{"output":{"status":"successful"},"warning":{"DEEP":${deep}}}`),
      ),
    );
    // Newer versions of Node stringify any depth.
    const told: unknown = expect.stringMatching(/^(a value that is nested too deeply|\[{500}…)$/);
    const api = connectTo(baseUrl);
    expect(await api.taskResponse({ connector: 't' })).toMatchObject({ warnings: { DEEP: told } });
    expect(await failureOf(api.convertFile({ connector: 'c', output: 'pdf' }))).toMatchObject({ code: told });
  });

  it('accepts numbers that arrive as text', async () => {
    const snapshot = await snapshotOf({
      entity: { status: 'completed', vcredits: '3' },
      result: { output: { status: 'successful', duration: '12' } },
    });
    expect(snapshot).toMatchObject({ vcredits: 3, durationSeconds: 12 });
  });

  it('treats a task without an entity as completed once its result has an output or an error', async () => {
    expect((await snapshotOf({ result: { output: { status: 'successful' } } })).status).toBe('completed');
    expect((await snapshotOf({ result: { error: { code: 'FAILED_CONVERT', message: 'no' } } })).status).toBe(
      'completed',
    );
    expect((await snapshotOf({ result: { output: {}, error: {} } })).status).toBe('running');
  });

  it('treats an answer without either as unreadable', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, { result: { output: { something: 'else' } } }));
    expect((await failureOf(connectTo(baseUrl).taskResponse({ connector: 't' }))).code).toBe('UNREADABLE_RESPONSE');
  });
});

describe('convertFile', () => {
  it('requests async mode with entity and result, and sends formats, callback and App ID', async () => {
    const { baseUrl, seen } = await serve((response) =>
      sendJson(response, { entity: { id: 't', status: 'running' }, result: {} }),
    );
    const snapshot = await connectTo(baseUrl).convertFile({
      connector: 't',
      input: 'txt-markdown',
      output: 'pdf',
      callback: 'https://example.com/hook',
    });
    expect(snapshot).toEqual({ taskId: 't', status: 'running', connector: 't', warnings: {} });
    expect((await readForm(seen[0])).data).toEqual({
      app: '7d0b6f0e-3c0a-4f6a-9a4e-1d1f5b1c2a3b',
      connector: 't',
      include: ['entity', 'result'],
      mode: 'async',
      callback: 'https://example.com/hook',
      parameters: { output: 'pdf', input: 'txt-markdown' },
    });
  });

  it('reads the outcome of a sync conversion', async () => {
    const { baseUrl, seen } = await serve((response) =>
      sendJson(response, {
        entity: { id: 't', status: 'completed', vcredits: 1 },
        result: { output: { connector: 't', status: 'successful', duration: 2 }, error: {}, warning: {} },
      }),
    );
    expect(await connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf', mode: 'sync' })).toMatchObject({
      status: 'completed',
      outputStatus: 'successful',
      vcredits: 1,
      durationSeconds: 2,
    });
    expect((await readForm(seen[0])).data).toMatchObject({ mode: 'sync' });
  });

  it('may have executed when the answer names no task to poll', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, { result: { output: {} } }));
    const failure = await failureOf(connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' }));
    expect(failure).toMatchObject({ code: 'UNREADABLE_RESPONSE', mayHaveExecuted: true });
  });

  it('compares task ids without regard to case', async () => {
    const { baseUrl } = await serve((response) =>
      sendJson(response, { result: { output: { entity: { id: 'ABC-1', status: 'running' } } } }),
    );
    expect(await connectTo(baseUrl).taskResponse({ connector: 'abc-1' })).toMatchObject({ status: 'running' });
  });

  it('treats an answer about another task as unreadable, so that its result is never delivered', async () => {
    const result = { output: { connector: 'other', status: 'successful' } };
    const { baseUrl } = await serve((response) =>
      sendJson(response, { result: { output: { entity: { id: 'other', status: 'completed' }, result } } }),
    );
    expect(await failureOf(connectTo(baseUrl).taskResponse({ connector: 't' }))).toMatchObject({
      code: 'UNREADABLE_RESPONSE',
      message: expect.stringContaining('about another task') as string,
    });
  });
});
