import { startHealthEndpoint, type HealthEndpoint } from '../../src/observability/health';

describe('the health endpoint of a process', () => {
  let health: HealthEndpoint;

  beforeEach(async () => (health = await startHealthEndpoint({ section: 'worker', address: '127.0.0.1:0' })));
  afterEach(() => health.close());

  async function ask(path: string, method = 'GET') {
    const answer = await fetch(`${health.url}${path}`, { method });
    return { status: answer.status, text: (await answer.text()).trim() };
  }

  it('is alive but not ready while the process starts', async () => {
    expect(await ask('/readyz')).toEqual({ status: 503, text: '{"status":"notReady","because":"it is starting"}' });
    expect(await ask('/healthz')).toEqual({ status: 200, text: '{"status":"ok"}' });
  });

  it('is ready when nothing is in the way, else names the obstacle', async () => {
    let obstacle: string | undefined;
    health.begin(() => Promise.resolve(obstacle));
    expect(await ask('/readyz')).toEqual({ status: 200, text: '{"status":"ready"}' });
    obstacle = 'the sea is rough';
    expect(await ask('/readyz?verbose')).toMatchObject({
      status: 503,
      text: expect.stringContaining(obstacle) as string,
    });
    obstacle = undefined;
    expect((await ask('/readyz')).status).toBe(200);
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('secret'))],
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
  ])('stays up, but not ready, when the check %s', async (_how, find) => {
    health.begin(find);
    expect(await ask('/readyz')).toEqual({ status: 503, text: '{"status":"notReady","because":"it can\'t tell"}' });
  });

  it('is not ready once it drains, even for a request already in flight', async () => {
    let tell = (): void => undefined;
    const looked = new Promise<void>((begun) => {
      health.begin(() => {
        begun();
        return new Promise((resolve) => (tell = () => resolve(undefined)));
      });
    });
    const asked = ask('/readyz');
    await looked;
    health.drain();
    tell();
    expect(await asked).toMatchObject({ status: 503, text: expect.stringContaining('it is draining') as string });
    expect((await ask('/healthz')).status).toBe(200);
  });

  it('answers GET and HEAD only, and no other path', async () => {
    expect(await ask('/healthz', 'HEAD')).toEqual({ status: 200, text: '' });
    expect([(await ask('/readyz', 'POST')).status, (await ask('/metrics')).status]).toEqual([405, 404]);
  });
});
