import { Webhook } from 'standardwebhooks';
import { noticeText } from '../../src/notices/notice-text';
import { sendNotice, type NotifySettings } from '../../src/notices/send-notice';
import type { Notice } from '../../src/batch/model/notices';
import { noticeSecret, startListener, type Listener } from '../support/listener';

const notice: Notice = {
  id: '0c6e1f3a-71c6-4d0e-8d5a-9b1f0c2d3e4f',
  type: 'batch.needs_attention',
  at: Date.parse('2026-11-26T20:00:00Z'),
  data: { app: 'invoices', batch: 'letters', code: 'INVALID_CREDENTIAL', message: 'The token is refused.', jobs: 3 },
};

let listener: Listener;
beforeEach(async () => (listener = await startListener()));
afterEach(() => listener.close());

const send = (settings: NotifySettings = {}, of: Partial<Notice> = {}) =>
  sendNotice(
    { ...notice, ...of },
    { url: listener.url, allowedHosts: ['127.0.0.1'], ...settings },
    new AbortController().signal,
  );

const failureOf = async (sending: Promise<void>): Promise<Error> =>
  sending.then(
    () => new Error('it was sent'),
    (error: unknown) => error as Error,
  );

it('sends JSON with a human-readable text, signed so that one changed byte is detected', async () => {
  await send({ secret: noticeSecret });
  const [{ headers, body } = { headers: {}, body: '' }] = listener.heard;
  expect(JSON.parse(body)).toEqual({
    type: 'batch.needs_attention',
    timestamp: '2026-11-26T20:00:00.000Z',
    text: 'Batch letters needs attention: INVALID_CREDENTIAL: The token is refused.',
    data: notice.data,
  });
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': notice.id });
  const listening = new Webhook(noticeSecret);
  const given = headers as Record<string, string>;
  expect(listening.verify(body, given)).toMatchObject({ type: notice.type });
  expect(() => listening.verify(body.replace('refused', 'refuseD'), given)).toThrow('No matching signature');
  expect(() => listening.verify(body, { ...given, 'webhook-id': 'another' })).toThrow('No matching signature');
});

it('does not sign without a secret', async () => {
  await send();
  expect(listener.heard[0]?.headers['webhook-signature']).toBeUndefined();
});

it('escapes mentions in the text, and keeps it on one line', async () => {
  await send({}, { data: { ...notice.data, message: '<!channel> a & b\nc' } });
  expect(listener.heard[0]?.text).toMatch(/: &lt;!channel&gt; a &amp; b\\x0ac$/);
});

it('suggests a retry only if that converts something, and names the results that need a look', () => {
  const counts = { items: 9, succeeded: 6, failed: 3, skipped: 0, cancelled: 0, inFlight: 0, waiting: 0 };
  const text = (data: object) =>
    noticeText({ type: 'batch.ended', data: { app: 'billing', batch: 'all', status: 'completed', counts, ...data } });
  const ended = 'Batch all has ended: 6 of 9 files converted, 3 failed.';
  const look = (count: string) => `${count} suspect: look at what stands beside`;
  expect(text({ failures: { RESULT_SUSPECT: 3 } })).toBe(`${ended} ${look('3 results are')} their destinations.`);
  expect(text({ failures: { RESULT_SUSPECT: 1, SOURCE_EMPTY: 2 } })).toBe(
    `${ended} ${look('1 result is')} its destination. What is left: fileconv batch retry all`,
  );
  const charged = (count: number) =>
    `${count} may have been charged: look at the service; --resubmit converts all the same.`;
  expect(text({ failures: { OUTCOME_UNKNOWN: 3 } })).toBe(
    `${ended} ${charged(3)} What is left: fileconv batch retry all --resubmit`,
  );
  expect(text({ failures: { OUTCOME_UNKNOWN: 1, SOURCE_EMPTY: 2 } })).toBe(
    `${ended} ${charged(1)} What is left: fileconv batch retry all`,
  );
  expect(text({ status: 'budget', counts: { ...counts, failed: 0, cancelled: 3 } })).toMatch(
    /What is left: fileconv batch retry all --max-vcredits N, with a higher N$/,
  );
});

it.each([503, 404, 302])('an answer of %d is not a success, and a redirect is not followed', async (status) => {
  listener.answers = [status];
  const failure = await failureOf(send({ secret: noticeSecret }));
  expect(failure).toMatchObject({ name: 'NoticeNotSentError' });
  expect(failure.message).toMatch(new RegExp(`^The listener at 127\\.0\\.0\\.1:\\d+ answers ${status}\\.$`));
  expect(listener.heard).toHaveLength(1);
});

it.each([
  ['by number', (url: string) => ({ url })],
  ['by name', (url: string) => ({ url: url.replace('127.0.0.1', 'listener.example') })],
])('sends nothing to a non-public address unless its host is allowed, %s', async (_title, named) => {
  const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
  const { message } = await failureOf(send({ ...named(listener.url), allowedHosts: [], resolve }));
  expect(message).toContain('127.0.0.1');
  expect(message).toContain('`allowed_hosts` in [notify]');
  expect(message).not.toContain('of-the-url');
  expect(listener.heard).toEqual([]);
  await send({ ...named(listener.url), allowedHosts: ['127.0.0.1', 'listener.example'], resolve });
  expect(listener.heard).toHaveLength(1);
});

it("the URL of a batch overrides the worker's; a worker without either says what it lacks", async () => {
  const other = await startListener();
  await send({}, { url: other.url }).finally(() => other.close());
  expect([listener.heard.length, other.heard.length]).toEqual([0, 1]);
  const { message } = await failureOf(sendNotice(notice, {}, new AbortController().signal));
  expect(message).toContain('set `url` in [notify]');
});
