import type { AddressInfo } from 'node:net';
import type { IncomingHttpHeaders, ServerHttp2Session } from 'node:http2';
import http2 from 'node:http2';

/** The proxy's own answer: a gRPC status and its message. */
export interface Refusal {
  status: number;
  message: string;
  /** The request is passed on to the server, but its answer is lost. */
  isPassedOn?: boolean;
  /** Remaining number of refusals. Default: unlimited. */
  times?: number;
}

export interface TemporalProxy {
  address: string;
  close(): Promise<void>;
}

/** Forwards gRPC to a Temporal server, except the methods (by the last part of their path) that it refuses. */
export async function startTemporalProxy(
  address: string,
  refused: Readonly<Record<string, Refusal>>,
): Promise<TemporalProxy> {
  const upstream = http2.connect(`http://${address}`);
  const sessions = new Set<ServerHttp2Session>();
  const server = http2.createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const named = refused[String(headers[':path']).split('/').pop() ?? ''];
    const refusal = named?.times === 0 ? undefined : named;
    if (refusal?.times !== undefined) refusal.times -= 1;
    const refuse = ({ status, message }: Refusal) => {
      const grpc = { 'grpc-status': String(status), 'grpc-message': message };
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...grpc }, { endStream: true });
    };
    if (refusal?.isPassedOn) {
      const passed = upstream.request({ ...headers, ':authority': address });
      stream.pipe(passed);
      passed.resume().once('close', () => refuse(refusal));
      return;
    }
    if (refusal) {
      refuse(refusal);
      return;
    }
    const passed = upstream.request({ ...headers, ':authority': address });
    stream.pipe(passed);
    stream.once('close', () => passed.close());
    passed.on('error', () => stream.close());
    passed.once('response', (answer, flags) => {
      const endStream = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      if (stream.closed) return;
      stream.respond(answer, { waitForTrailers: !endStream, endStream });
      let trailers: IncomingHttpHeaders = {};
      passed.once('trailers', (last: IncomingHttpHeaders) => (trailers = last));
      stream.once('wantTrailers', () => stream.sendTrailers(trailers));
      if (!endStream) passed.pipe(stream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      upstream.destroy();
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
