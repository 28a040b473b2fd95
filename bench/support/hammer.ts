import { connect } from 'node:net';

/**
 * Sends one request over and over on several connections and counts answers. By hand, as any HTTP client costs more than the
 * server that is measured.
 */
export async function hammer(
  url: string,
  { request, connections, seconds }: { request: Buffer; connections: number; seconds: number },
): Promise<{ requestsPerSecond: number }> {
  const { hostname, port } = new URL(url);
  const end = performance.now() + seconds * 1_000;
  let answers = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((resolve, reject) => {
          const socket = connect(Number(port), hostname);
          let received = '';
          socket.setNoDelay(true).setEncoding('latin1');
          socket.on('error', reject);
          socket.on('connect', () => socket.write(request));
          socket.on('data', (text: string) => {
            received += text;
            const headEnd = received.indexOf('\r\n\r\n');
            if (headEnd === -1) return;
            const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1]);
            if (received.length < headEnd + 4 + length) return;
            if (!received.startsWith('HTTP/1.1 200 ')) {
              reject(new Error(received));
              return;
            }
            answers += 1;
            received = '';
            if (performance.now() < end) socket.write(request);
            else socket.end(() => resolve());
          });
        }),
    ),
  );
  return { requestsPerSecond: answers / ((performance.now() - startedAt) / 1_000) };
}
