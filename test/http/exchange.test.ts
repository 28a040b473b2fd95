import { Agent, type Dispatcher } from 'undici';
import { exchange } from '../../src/http/exchange';
import { closeAll, failureOf, serve } from './loopback';

afterEach(closeAll);

/** Simulates undici requeueing a request: the same request starts on a second connection. */
class RedispatchingAgent extends Agent {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, {
      ...bound(handler),
      onRequestStart: (controller, context) => {
        handler.onRequestStart?.(controller, context);
        handler.onRequestStart?.(controller, context);
      },
    });
  }
}

function bound(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onResponseStart: handler.onResponseStart?.bind(handler),
    onResponseData: handler.onResponseData?.bind(handler),
    onResponseEnd: handler.onResponseEnd?.bind(handler),
    onResponseError: handler.onResponseError?.bind(handler),
  } as Dispatcher.DispatchHandler;
}

it('a request that undici would send twice is aborted, and may have been executed', async () => {
  const { baseUrl, seen } = await serve((response) => response.end('twice'));
  const agent = new RedispatchingAgent();
  const error = await failureOf(
    exchange(agent, {
      endpoint: 'v1/convert/file',
      url: new URL(baseUrl),
      method: 'POST',
      headers: {},
      headersTimeoutMs: 1000,
      bodyTimeoutMs: 1000,
    }),
  );
  await agent.close();
  expect(error).toMatchObject({ code: 'CONNECTION_LOST', mayHaveExecuted: true });
  expect(error.message).toContain('would have been sent again');
  expect(seen).toHaveLength(0);
});
