import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Confinement, confinements } from '../../../src/engines/process/confinement';
import { withPackages } from '../with-packages';

/** Tests the confinement of conversions with programs that try to escape. */

const folder = mkdtempSync(path.join(tmpdir(), 'confined-'));
const beside = path.join(tmpdir(), `beside-${path.basename(folder)}`);
writeFileSync(beside, 'a file of the server');

function run({ wrap }: Confinement, script: string): { status: number | null; stdout: string } {
  const [program = '', ...parameters] = wrap([process.execPath, '-e', script], folder);
  const { status, stdout } = spawnSync(program, parameters, { encoding: 'utf8', timeout: 20_000 });
  return { status, stdout };
}

const [strongest] = confinements();
const none = confinements().at(-1) ?? strongest;
const here = confinements()
  .filter((each) => each !== none)
  .map((each) => [each.name, each] as const);

it('a program reaches the network without confinement, so the tests below are meaningful', async () =>
  expect(await connects(none)).toBe(true));

describe.each(here)('a conversion in %s', (name, confinement) => {
  it("can't reach the network", async () => expect(await connects(confinement)).toBe(false));

  it('can write to its own folder', () => {
    const script = `fs.writeFileSync(${JSON.stringify(path.join(folder, name))}, 'own'); console.log(fs.readFileSync(${JSON.stringify(path.join(folder, name))}, 'utf8'))`;
    expect(run(confinement, script)).toEqual({ status: 0, stdout: 'own\n' });
  });
});

withPackages(new Map([['bubblewrap', strongest.name === 'bubblewrap']]), () => {
  it('a conversion sees no file of the server and no other process', () => {
    const script = `for (const file of ['/etc/passwd', '/root', ${JSON.stringify(beside)}]) console.log(fs.existsSync(file)); console.log(fs.readdirSync('/proc').filter((name) => +name > 0).length < 9)`;
    expect(run(strongest, script).stdout).toBe('false\nfalse\nfalse\ntrue\n');
  });
});

/** Whether a program inside can connect to a listening port of this machine. */
async function connects(confinement: Confinement): Promise<boolean> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { stdout } = run(
    confinement,
    `require('net').connect(${(server.address() as AddressInfo).port}, '127.0.0.1').on('connect', () => { console.log('connected'); process.exit(); }).on('error', () => process.exit())`,
  );
  server.close();
  return stdout.includes('connected');
}
