import type { LookupAddress } from 'node:dns';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolveCallbackHost } from '../../src/callbacks/send-callback';
import { startTestService } from '../support';
import { createCallbackApp, deliveryOf, endedDelivery, type Receiver, startReceiver } from './receiver';

/** Callbacks may go to verified domains at public addresses, and to private addresses that the operator has opened. */

const v4 = (...addresses: string[]): LookupAddress[] => addresses.map((address) => ({ address, family: 4 }));

describe('an address', () => {
  const judge = (addresses: readonly LookupAddress[], { url = 'https://hook.test/', open = false } = {}) =>
    resolveCallbackHost(new URL(url), {
      resolveHost: () => Promise.resolve(addresses),
      privateHosts: open ? [new URL(url).hostname] : [],
    });

  // test/network/addresses.test.ts covers which addresses are private or special.
  it.each([
    ['93.184.215.14', 'called', 'called'],
    ['127.0.0.1', 'refused', 'called'],
    ['fc00::1', 'refused', 'called'],
    ['169.254.169.254', 'refused', 'refused'],
  ])('%s is %s by default, and %s for a host that the operator has opened', async (address, ...expected) => {
    const asked = [false, true].map((open) =>
      judge([{ address, family: 0 }], { open }).then(
        () => 'called',
        (error: unknown) => (String(error).includes(address) ? 'refused' : error),
      ),
    );
    expect(await Promise.all(asked)).toEqual(expected);
  });

  it.each([
    ...[
      'http://127.0.0.1/',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://0177.0.0.1/',
      'http://127.1/',
      'http://0/',
    ],
    ...['http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://[::ffff:a9fe:a9fe]/', 'http://①②⑦.0.0.1/'],
  ])('is recognized in %s without a DNS lookup', async (url) => {
    await expect(judge(v4('93.184.215.14'), { url })).rejects.toThrow('which is not called');
  });

  it('that is private makes the host refused, even with public addresses next to it', async () =>
    await expect(judge(v4('93.184.215.14', '10.0.0.1'))).rejects.toThrow('10.0.0.1'));

  it('is required', async () => await expect(judge([])).rejects.toThrow('no address'));
});

describe('the service', () => {
  const ends: (() => Promise<void>)[] = [];
  let receiver: Receiver;

  beforeEach(async () => (receiver = await startReceiver()));

  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await receiver.close();
  });

  async function callBack(
    url: string,
    options: Parameters<typeof startTestService>[0],
    testApp: Parameters<typeof startTestService>[1],
  ) {
    const running = await startTestService(options, testApp);
    ends.push(running.stop);
    const data = { callback: url, include: ['entity'], parameters: { format: 'pdf' } };
    return { ...running, id: (await running.client.post('format/get', data)).body.entity?.id ?? '' };
  }

  it('does not call loopback by default, even if the address is verified', async () => {
    const { id, dataDir, logged } = await callBack(receiver.url, {}, createCallbackApp(['127.0.0.1'], []));
    expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'failed', attempts: 0 });
    expect(receiver.received).toEqual([]);
    expect(logged.filter((line) => line.includes('127.0.0.1 (loopback), which is not called'))).toHaveLength(1);
  });

  it('does not call a verified name with a private address', async () => {
    const resolveHost = () => Promise.resolve(v4('127.0.0.1'));
    const url = `http://hook.test:${receiver.port}/`;
    const { id, dataDir } = await callBack(url, { callbacks: { resolveHost } }, createCallbackApp(['hook.test'], []));
    expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'failed', attempts: 0 });
    expect(receiver.received).toEqual([]);
  });

  it('connects to the address it has checked, even if the name resolves differently a moment later', async () => {
    const other = await startReceiver(undefined, { host: '127.0.0.2', port: receiver.port });
    ends.push(other.close);
    let asked = 0;
    const resolveHost = () => Promise.resolve(v4((asked += 1) === 1 ? '127.0.0.1' : '127.0.0.2'));
    const url = `http://rebind.test:${receiver.port}/`;
    const { id, dataDir } = await callBack(url, { callbacks: { resolveHost } }, createCallbackApp(['rebind.test']));
    expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'delivered', attempts: 1 });
    expect([receiver.received.length, other.received.length, asked]).toEqual([1, 0, 1]);
    expect(receiver.received[0]?.headers.host).toBe(`rebind.test:${receiver.port}`);
  });

  it('applies the answer timeout to name resolution', async () => {
    const callbacks = { resolveHost: () => new Promise<never>(() => undefined), timeoutMs: 100, maxAttempts: 1 };
    const { id, dataDir } = await callBack('http://slow.test/', { callbacks }, createCallbackApp(['slow.test']));
    expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'failed', problem: 'no answer within 100 ms' });
  });

  it('resolves names with the system by default', async () => {
    const { id, dataDir } = await callBack(`http://localhost:${receiver.port}/`, {}, createCallbackApp(['localhost']));
    expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'delivered' });
  });

  it('does not deliver once the domain is no longer verified', async () => {
    const failing = await startReceiver((response) => void response.writeHead(500).end());
    ends.push(failing.close);
    const { app, token } = createCallbackApp([]);
    const { appId, tokenSha256 } = app;
    const table = `[apps.late]\napp_id = "${appId}"\ntoken_sha256 = "${String(tokenSha256)}"\n`;
    const hosts = 'callback_domains = ["127.0.0.1"]\nprivate_callback_hosts = ["127.0.0.1"]\n';
    const first = await startTestService({ callbacks: { firstRetryMs: 200 } }, createCallbackApp());
    ends.push(first.stop);
    const accounts = path.join(first.dataDir, 'accounts.toml');
    await writeFile(accounts, table + hosts);
    expect(await first.service.reloadAccounts()).toBe(true);
    const headers = { authorization: `Bearer ${token}` };
    const data = { app: appId, callback: failing.url, include: ['entity'], parameters: { format: 'pdf' } };
    const body = new URLSearchParams({ data: JSON.stringify(data) });
    const answer = (await (await first.client.send('format/get', { body, headers })).json()) as {
      entity: { id: string };
    };
    await failing.count(1);
    await writeFile(accounts, table);
    expect(await first.service.reloadAccounts()).toBe(true);
    const sent = failing.received.length;
    expect(await endedDelivery(first.dataDir, answer.entity.id)).toMatchObject({
      state: 'failed',
      problem: 'UNVERIFIED_DOMAIN_CALLBACK',
    });
    await sleep(300);
    expect(failing.received.length).toBeLessThanOrEqual(sent + 1);
    expect(deliveryOf(first.dataDir, answer.entity.id)?.state).toBe('failed');
  });
});
