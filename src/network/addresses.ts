import { BlockList, isIP } from 'node:net';

/**
 * Who can reach an address; used for web sources, notices and callbacks alike.
 *
 * `public`: everyone on the internet. `loopback` and `private`: this machine, or networks that an operator may allow. `special`: never
 * a legitimate target, such as link-local addresses and those of cloud metadata services.
 */
export type Reach = 'public' | 'loopback' | 'private' | 'special';

const clouds = blockList([
  '168.63.129.16',
  '169.254.0.0/16',
  'fd00:42::42',
  'fd00:c1::a9fe:a9fe',
  'fd00:ec2::254',
  'fd20:ce::254',
]);
const loopback = blockList(['127.0.0.0/8', '::1']);
const privateNetworks = blockList(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']);
const special = blockList([
  '0.0.0.0/8',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Tunnels to IPv4, which may lead anywhere, and ranges reserved for protocols and documentation.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
]);
/** The only part of IPv6 that is routed on the internet. */
const globalUnicast = blockList(['2000::/3']);

/** An IPv4-mapped IPv6 address is private if the IPv4 address is; a public one has no need for this form and counts as special. */
export function reachOf(address: string): Reach {
  const mapped = mappedAddress(address);
  if (mapped !== undefined) {
    const reach = reachOf(mapped);
    return reach === 'public' ? 'special' : reach;
  }
  if (isIP(address) === 0) return 'special';
  if (isIn(loopback, address)) return 'loopback';
  if (isIn(clouds, address)) return 'special';
  if (isIn(privateNetworks, address)) return 'private';
  const isRouted = isIP(address) === 4 || isIn(globalUnicast, address);
  return isRouted && !isIn(special, address) ? 'public' : 'special';
}

/** Whether a host, in brackets or not, is the address of a cloud metadata service. */
export function isOfCloud(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) !== 0 && isIn(clouds, mappedAddress(address) ?? address);
}

/** Whether a host name or address, in brackets or not, leads to this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return /^(([\w-]+\.)*localhost\.?|127\.0\.0\.1)$/.test(name) || reachOf(name) === 'loopback';
}

export function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Takes addresses and networks such as `10.0.0.0/8`. */
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

/** The IPv4 address in an IPv4-mapped one such as `::ffff:10.0.0.1`, in any spelling. */
function mappedAddress(address: string): string | undefined {
  if (isIP(address) !== 6 || !URL.canParse(`http://[${address}]`)) return undefined;
  const [, high = '', low = ''] =
    /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  if (low === '') return undefined;
  const number = parseInt(high, 16) * 65_536 + parseInt(low, 16);
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.');
}
