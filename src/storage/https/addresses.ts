import { BlockList, isIP } from 'node:net';

const special = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Tunnels to IPv4, which may lead anywhere, and what is kept for protocols and documents.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);
/** The one part of IPv6 that is routed in the internet; IPv4 addresses in the form of IPv6 are outside of it. */
const globalUnicast = blockList(['2000::/3']);

/** Whether everybody in the internet can reach the address: it is not of a network that only its own machines see. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 6 && !globalUnicast.check(address, 'ipv6')) return false;
  return isIP(address) !== 0 && !isIn(special, address);
}

export function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Of addresses and networks such as `10.0.0.0/8`. */
export function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
