import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { endLeftOverServer, freePort, portNear } from '../../src/dev-server';
import { databaseMark } from '../../src/dev-server/running-server';
import { newFolder } from '../fileconv';

/** Its main thread ends long before the others, which still hold the port. */
const server = `
const { Worker } = require('node:worker_threads');
const hold = 'Buffer.alloc(6e7, 1); require("node:worker_threads").parentPort.postMessage(0); setInterval(() => {}, 1e6)';
const threads = Array.from({ length: 8 }, () => new Worker(hold, { eval: true }));
const held = Promise.all(threads.map((each) => new Promise((done) => each.once('message', done))));
const listener = require('node:net').createServer();
held.then(() => listener.listen(Number(process.argv[1]), '127.0.0.1', () => console.log('listens')));
`;

it('frees the port of a server that a killed stack left, so that the next one has the same address', async () => {
  const database = path.join(await newFolder(), 'temporal.db');
  for (let round = 0; round < 5; round += 1) {
    const port = await freePort();
    const child = spawn(process.execPath, ['-e', server, String(port), databaseMark(database)]);
    await once(child.stdout, 'data');
    await writeFile(`${database}.server.pid`, `${child.pid ?? 0}\n`);
    expect(await endLeftOverServer(database)).toBe(true);
    expect(await portNear(port)).toBe(port);
  }
});
