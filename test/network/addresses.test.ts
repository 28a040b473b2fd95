import { isIP } from 'node:net';
import { resolveCallbackHost } from '../../packages/service/src/callbacks/send-callback';
import { isLoopback, type Reach, reachOf } from '../../src/network/addresses';
import { createPublicAgent } from '../../src/network/public-agent';

const table: Record<Reach, readonly string[]> = {
  public: [
    ...['8.8.8.8', '1.1.1.1', '93.184.215.14', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.1'],
    ...['126.255.255.255', '128.0.0.1', '168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0'],
    ...['172.15.255.255', '172.32.0.1', '192.0.1.1', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
    ...['223.255.255.255', '2606:4700::1', '2606:2800:21f:cb07::1', '2001:4860:4860::8888', '2a00:1450:4001::1'],
  ],
  loopback: [
    '127.0.0.1',
    '127.8.8.8',
    '127.255.255.255',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:FFFF:127.0.0.1',
  ],
  private: [
    ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
    ...['fc00::1', 'fd00::1', 'fdff:ffff::1', '::ffff:10.0.0.1', '::ffff:192.168.1.1'],
  ],
  special: [
    ...['0.0.0.0', '0.1.2.3', '100.64.0.1', '100.100.100.200', '100.127.255.255', '168.63.129.16'],
    ...['169.254.0.1', '169.254.169.254', '169.254.170.2', '192.0.0.1', '192.0.0.192', '192.0.2.1', '192.31.196.1'],
    ...['192.52.193.1', '192.88.99.1', '192.175.48.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1'],
    ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::7f00:1', '::ffff:0.0.0.0', '::ffff:8.8.8.8', '::ffff:808:808', '::ffff:93.184.215.14'],
    ...[
      '::ffff:168.63.129.16',
      '::ffff:169.254.169.254',
      '::ffff:0:8.8.8.8',
      '64:ff9b::7f00:1',
      '64:ff9b:1::1',
      '100::1',
    ],
    ...[
      '2001::1',
      '2001:0:7f00::',
      '2001:2::1',
      '2001:10::1',
      '2001:20::1',
      '2001:db8::1',
      '2002:7f00:1::',
      '2620:4f:8000::1',
    ],
    ...[
      '3fff::1',
      '4000::1',
      '5f00::1',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      'fd00:ec2::254',
      'fd20:ce::254',
    ],
    ...['name', '', '1.2.3', '256.1.1.1'],
  ],
};

describe.each(Object.entries(table))('%s addresses', (reach, addresses) => {
  it.each(addresses)('%s', (address) => expect(reachOf(address)).toBe(reach));

  it('are treated the same by web sources, notices and callbacks', async () => {
    const agent = createPublicAgent({ allowedHosts: [], section: 'https', stallMs: 1_000 });
    for (const address of addresses.filter((each) => isIP(each) !== 0 && !each.includes('%'))) {
      const url = new URL(`http://${isIP(address) === 6 ? `[${address}]` : address}/`);
      const isRead = agent.assertPublic(url);
      const isCalled = resolveCallbackHost(url, { resolveHost: () => Promise.resolve([]), privateHosts: [] });
      for (const door of [isRead, isCalled]) {
        const isOpen = door.then(
          () => true,
          () => false,
        );
        expect([address, await isOpen]).toEqual([address, reach === 'public']);
      }
    }
    await agent.dispatcher.close();
  });
});

it.each([
  ...['localhost', 'LocalHost', 'localhost.', 'a.localhost', 'my-app.localhost', '127.0.0.1', '127.8.8.8'],
  ...['::1', '[::1]', '[::ffff:127.0.0.1]'],
])('%s is this machine, as a name or an address', (host) => expect(isLoopback(host)).toBe(true));

it.each([
  ...['', 'localhost.example', 'evil-localhost', '127.0.0.1.example', '127.0.0.256', '128.0.0.1', '0.0.0.0', '[::]'],
  ...['localhost:80', 'a b.localhost', '10.0.0.1'],
])('%s is not', (host) => expect(isLoopback(host)).toBe(false));
