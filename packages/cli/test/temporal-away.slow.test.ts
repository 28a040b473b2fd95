import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import path from 'node:path';
import { testTemporalAddress } from '../../../test/support/temporal';
import { fileconv, newFolder, removeFolders, type Ended } from './fileconv';
import { needsTemporal } from './lines-of-commands';

/** What the shell learns of each command when Temporal can't be reached. */

afterAll(removeFolders);

const address = '127.0.0.1:1';

it('a command that can not reach Temporal ends with 1, one of batch with 3, and says so in one line', async () => {
  const cwd = await newFolder();
  await mkdir(path.join(cwd, 'in'));
  await writeFile(path.join(cwd, 'in/a.md'), '# A\n');
  const options = { cwd, env: { TEMPORAL_ADDRESS: address } };
  // At a time: each waits for some seconds.
  const all = await Promise.all(needsTemporal.map(([line]) => fileconv(line.split(' '), options)));
  const told = needsTemporal.map(([line], n) => {
    const { code, stderr = '' }: Partial<Ended> = all[n] ?? {};
    return [line, code, line === 'doctor' ? line : stderr.replace(/^(.* at 127\.0\.0\.1:1)\b.*\n$/, '$1')];
  });
  const reason = `error: Temporal can't be reached at ${address}`;
  expect(told).toEqual(needsTemporal.map(([line, code]) => [line, code, line === 'doctor' ? line : reason]));
});

it('one that is there and too busy to answer at first is waited for, which is said', async () => {
  const { port, hostname } = new URL(`http://${testTemporalAddress()}`);
  const sockets = new Set<Socket>();
  // Silent until the command asks whether anybody listens, which it does by the beginning of a TLS handshake.
  let isAsked = false;
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', (first: Buffer) => {
      socket.pause();
      if (first[0] === 0x16) {
        socket.destroy();
        isAsked = true;
        server.emit('asked');
        return;
      }
      const pass = () => {
        const temporal = connect(Number(port), hostname, () => temporal.write(first)).on('error', () => undefined);
        sockets.add(temporal);
        socket.pipe(temporal).pipe(socket);
      };
      if (isAsked) pass();
      else server.once('asked', pass);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = { TEMPORAL_ADDRESS: `127.0.0.1:${(server.address() as AddressInfo).port}` };
  const ended = await fileconv(['job', 'list'], { cwd: await newFolder(), env });
  for (const socket of sockets) socket.destroy();
  server.close();
  const warning = `warning: What listens at ${env.TEMPORAL_ADDRESS} has not answered as Temporal so far; waits for it up to 20 s more.\n`;
  expect(ended.stderr.startsWith(warning)).toBe(true);
  expect(ended.code).toBe(0);
  expect(isAsked).toBe(true);
});

it.each(['worker', 'callbacks'])(
  '%s joins no stack of another folder, which may be at the usual port',
  async (part) => {
    const cwd = await newFolder();
    const ended = await fileconv([part], { cwd });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^error: No stack runs in .* Start it \(fileconv up\), or name a Temporal that runs/);
  },
);
