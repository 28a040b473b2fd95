import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Passes bytes on to an address, until it is cut. `admit`: what a connection waits for first; it may end it. */
export async function startPassage(
  target: string,
  admit: (incoming: Socket) => Promise<void> = () => Promise.resolve(),
): Promise<{ address: string; cut(): void; restore(): Promise<void> }> {
  const { hostname, port } = new URL(`tcp://${target}`);
  const sockets = new Set<Socket>();
  const hold = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const open = async (at: number) => {
    const server = createServer((incoming) => {
      hold(incoming);
      void admit(incoming).then(() => {
        if (!incoming.destroyed) incoming.pipe(hold(connect(Number(port), hostname))).pipe(incoming);
      }, incoming.destroy.bind(incoming));
    }).listen(at, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await open(0);
  const { port: own } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${own}`,
    cut() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    async restore() {
      server = await open(own);
    },
  };
}
