import type { IncomingHttpHeaders } from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { Reply } from './reply';
import { Undecided } from './verdict';

/** Bytes that no HTTP library sends, and what comes back. */

const timeoutMs = 20_000;

/** Sends a head of HTTP/1.1 as it is, and reads the answer to the end of its connection or of its body. */
export async function exchangeRaw(baseUrl: string, makeHead: (target: { path: string; host: string }) => string) {
  const { protocol, hostname, port, host, pathname } = new URL(baseUrl);
  const name = hostname.replace(/^\[|\]$/g, '');
  const socket =
    protocol === 'https:'
      ? tls.connect({ host: name, port: Number(port || 443), servername: name, ALPNProtocols: ['http/1.1'] })
      : net.connect({ host: name, port: Number(port || 80) });
  socket.setTimeout(timeoutMs, () => socket.destroy());
  socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () =>
    socket.write(makeHead({ path: pathname.replace(/\/$/, ''), host }), 'latin1'),
  );
  let received = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (isWhole(received)) socket.destroy();
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return parseReply(received);
}

function isWhole(received: Buffer): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = received.toString('latin1', 0, end);
  if (isChunked(head))
    return received
      .subarray(end + 4)
      .toString('latin1')
      .endsWith('0\r\n\r\n');
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}

function isChunked(head: string): boolean {
  return /^transfer-encoding: *chunked/im.test(head);
}

/** The body behind its chunk sizes. */
function joinChunks(chunked: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < chunked.length;) {
    const lineEnd = chunked.indexOf('\r\n', at);
    const size = Number.parseInt(chunked.toString('latin1', at, lineEnd), 16);
    if (lineEnd === -1 || !(size > 0)) break;
    chunks.push(chunked.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(chunks);
}

function parseReply(received: Buffer): Reply {
  const end = received.indexOf('\r\n\r\n');
  const head = received.toString('latin1', 0, Math.max(0, end));
  const [first = '', ...lines] = head.split('\r\n');
  const status = /^HTTP\/1\.\d (\d{3})/.exec(first)?.[1];
  if (status === undefined) throw new Undecided('the connection was closed without an answer');
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [name = '', ...value] = line.split(':');
    headers[name.toLowerCase()] = value.join(':').trim();
  }
  const body = received.subarray(end + 4);
  return new Reply(Number(status), headers, isChunked(head) ? joinChunks(body) : body);
}
