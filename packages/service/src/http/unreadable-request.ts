import { STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { inspectError } from '../shared/caught';
import { TaskError } from '../shared/task-error';
import { errorJson, statusOf } from '../tasks/answer';

/** Refuses requests that Node cannot parse, or whose body is too slow, in the document's shape and with its headers. */

/** Time to send the answer before the connection is cut, whatever still arrives. */
const answerGraceMs = 500;

export function refuseConnection(
  socket: Duplex,
  { error, headers }: { error: TaskError; headers: Readonly<Record<string, string | number>> },
): void {
  // The connection may have been answered already.
  if (!socket.writable) return;
  const status = statusOf(error.code);
  const json = errorJson(error);
  const all = {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    connection: 'close',
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on('error', () => undefined);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head.join('')}\r\n${json}`);
  setTimeout(() => socket.destroy(), answerGraceMs).unref();
}

/** The path of a request if only its method is unreadable. */
export function pathOfUnknownMethod(error: Error & { rawPacket?: unknown }): string | undefined {
  if (inspectError(error).code !== 'HPE_INVALID_METHOD' || !Buffer.isBuffer(error.rawPacket)) return undefined;
  return /^[\w!#$%&'*+.^`|~-]+ (\S+) HTTP\/1\.\d\r?\n/.exec(error.rawPacket.toString('latin1', 0, 4_096))?.[1];
}

export function describeUnreadable(error: Error, headersTimeoutMs: number): TaskError {
  const { code = '', message = '' } = inspectError(error);
  const reasons: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: 'The headers of the request are larger than 16 KiB.',
    ERR_HTTP_REQUEST_TIMEOUT: `The headers of the request came too slowly: they must be complete after ${headersTimeoutMs / 1000} s.`,
  };
  const other = `The request could not be read: ${message.replace(/^Parse Error: /, '') || code}.`;
  return new TaskError('INVALID_FIELD', { message: reasons[code] ?? other });
}

/** Far below any real connection, and far above what an attacker sends who only holds connections open. */
const minBytes = 64 * 1024;

/**
 * Gives up on a body that neither ends nor brings another 64 KiB within the timeout: `refuse` may answer, then the connection is cut. A
 * timeout for the whole body would limit the size of uploads, and an idle timeout alone would allow a byte a minute.
 */
export function watchBody({ raw }: FastifyRequest, bodyTimeoutMs: number, refuse: (error: TaskError) => void): void {
  const { socket } = raw;
  let received = socket.bytesRead;
  const timer = setInterval(() => {
    if (!raw.complete && socket.bytesRead - received >= minBytes) {
      received = socket.bytesRead;
      return;
    }
    clearInterval(timer);
    if (raw.complete) return;
    const message = `The body of the request came too slowly: it must end, or bring another ${minBytes / 1024} KiB, every ${bodyTimeoutMs / 1000} s.`;
    refuse(new TaskError('INVALID_FIELD', { message }));
    setTimeout(() => raw.destroy(), answerGraceMs);
  }, bodyTimeoutMs);
  timer.unref();
  raw.once('close', () => clearInterval(timer));
}

/**
 * Node closes a connection that is not kept alive together with its answer. A client that still sends its body would then see a broken
 * connection instead of the answer, so the body is read to its end first.
 */
export function endAfterBody({ raw }: FastifyRequest): void {
  const { socket } = raw;
  if (raw.complete) return;
  socket.destroySoon = () => {
    socket.end();
    const close = () => Socket.prototype.destroySoon.call(socket);
    if (raw.complete) close();
    else raw.once('end', close);
  };
}
