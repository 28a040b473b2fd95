// Where `ip netns` works, each member of the fleet has a network namespace and an address of its own, and sees no folder of another member.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

const isolated = 'FLEET_IS_ISOLATED';
/** The block that is set aside for tests between network devices. */
const subnet = '198.18.0';
const isRoot = process.getuid?.() === 0;
/** Names of namespaces are files, which end with this process as the namespaces do. */
const ownNames = 'mkdir -p /run/netns && mount -t tmpfs none /run/netns';

/** Runs this program again in a network of its own, and ends as that ends. Returns where it may not make one, or is in one already. */
export async function enterNetwork() {
  if (process.env[isolated]) return;
  const inside = ['--net', '--mount', 'sh', '-c'];
  if (!isRoot || spawnSync('unshare', [...inside, `${ownNames} && ip netns add probe`]).status !== 0) return;
  const args = [...inside, `${ownNames} && exec "$@"`, 'sh', process.execPath, ...process.argv.slice(1)];
  const child = spawn('unshare', args, { stdio: 'inherit', env: { ...process.env, [isolated]: 'yes' } });
  // Ctrl-C reaches both.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = await once(child, 'exit');
  process.exit(code ?? 1);
}

/** `folder`: of the fleet; each member has one within. */
export function createNetwork(folder) {
  return process.env[isolated] ? new Namespaces(folder) : new Loopback();
}

class Loopback {
  isIsolated = false;
  /** Of this process. */
  address = '127.0.0.1';
  range = '127.0.0.0/8';

  /** Of a member. */
  addressOf() {
    return this.address;
  }

  spawn(_member, [program, ...args], { user, ...options }) {
    return spawn(program, args, { ...options, ...(user && { uid: user.uid, gid: user.gid }) });
  }
}

class Namespaces {
  isIsolated = true;
  address = `${subnet}.1`;
  range = `${subnet}.0/24`;
  #folder;
  #addresses = new Map();

  constructor(folder) {
    this.#folder = folder;
    ip('link set lo up');
    ip('link add switch type bridge');
    ip(`addr add ${this.address}/24 dev switch`);
    ip('link set switch up');
  }

  addressOf(member) {
    const known = this.#addresses.get(member);
    if (known) return known;
    const number = this.#addresses.size + 2;
    const address = `${subnet}.${number}`;
    this.#addresses.set(member, address);
    ip(`netns add ${member}`);
    ip(`link add port${number} type veth peer name eth0 netns ${member}`);
    ip(`link set port${number} master switch up`);
    ip(`-n ${member} addr add ${address}/24 dev eth0`);
    for (const device of ['lo', 'eth0']) ip(`-n ${member} link set ${device} up`);
    return address;
  }

  /** The process that is returned is the program itself: what kills it kills nothing else. */
  spawn(member, command, { cwd, user, ...options }) {
    this.addressOf(member);
    const alone = `mount --bind "$1" /mnt && mount -t tmpfs none "$0" && mkdir -p "$1" && mount --bind /mnt "$1" && umount /mnt && cd "$1" && shift && exec "$@"`;
    const as = user ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : [];
    const args = ['netns', 'exec', member, 'sh', '-c', alone, this.#folder, cwd, ...as, ...command];
    return spawn('ip', args, { cwd, ...options });
  }
}

function ip(line) {
  execFileSync('ip', line.split(' '), { stdio: ['ignore', 'ignore', 'inherit'] });
}
