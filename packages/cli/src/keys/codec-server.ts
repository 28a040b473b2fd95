import { createHash, timingSafeEqual } from 'node:crypto';
import cors from '@fastify/cors';
import type { Payload, PayloadCodec } from '@temporalio/common';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { DecryptionError, readPayloads, writePayloads } from 'temporal-file-conversion/encryption';
import { byLoopbackNumber } from '../config/value-types';

export interface CodecServerOptions {
  codec: PayloadCodec;
  /** Origins of the UIs with access, for example `https://temporal.example.com`; read for each request. */
  uiOrigins: () => readonly string[];
  /** Token that requests must send: `Authorization: Bearer <token>`. Default: none. */
  token?: string;
  host?: string;
  port?: number;
  /** Receives messages for the operator, never a payload, key or token. */
  log?: (line: string) => void;
}

export interface CodecServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Fits a page of a history: the UI sends all its payloads at once, and base64 makes them a third larger. */
const maxBodyBytes = 32 * 1024 * 1024;
const requestTimeoutMs = 30_000;
const closeGraceMs = 2_000;

const noPayloads = 'this is not JSON with payloads';
const refusals: Readonly<Record<number, string>> = {
  408: 'the request did not arrive in time',
  413: 'more than 32 MiB',
};

/**
 * Encrypts and decrypts payloads for the Temporal UI and CLI by Temporal's codec server protocol: `POST /decode` and `POST /encode`
 * take and return `{"payloads": [...]}`. A refusal gives the reason in `message`.
 */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const { codec, token, log = () => undefined } = options;
  // Users open a local UI as localhost or 127.0.0.1.
  const isAllowed = (origin: string) => options.uiOrigins().map(byLoopbackNumber).includes(byLoopbackNumber(origin));
  const server = fastify({ logger: false, bodyLimit: maxBodyBytes, requestTimeout: requestTimeoutMs });
  let closing = false;

  // With DNS rebinding a foreign page needs no CORS permission, but the browser still sends its origin.
  server.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    if (origin === undefined || isAllowed(origin)) done();
    else void refuse(reply, 403, "pages of this origin may not ask; set codec.ui_origin to the UI's origin");
  });
  await server.register(cors, {
    origin: (origin, decide) => decide(null, origin !== undefined && isAllowed(origin)),
    methods: ['POST'],
    credentials: true,
    maxAge: 600,
  });
  server.addHook('onRequest', (request, reply, done) => {
    if (token === undefined || request.url === '/healthz' || knows(request, token)) done();
    else void refuse(reply, 401, 'a token is needed: Authorization: Bearer <token>');
  });
  // A keep-alive connection would keep the server alive.
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done();
  });
  server.setErrorHandler((error, _request, reply) => {
    const { statusCode = 500 } = error as { statusCode?: number };
    if (statusCode >= 500)
      log(`A request could not be answered: ${error instanceof Error ? error.name : 'unknown error'}.`);
    // The error's own message may quote the body.
    return refuse(reply, statusCode, refusals[statusCode] ?? (statusCode < 500 ? noPayloads : 'see the log'));
  });
  server.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'POST /decode or POST /encode'));
  server.get('/healthz', () => ({ status: 'ok' }));
  for (const direction of ['encode', 'decode'] as const) {
    server.post(`/${direction}`, async ({ body }, reply) => {
      const payloads = readPayloads(body);
      if (!payloads) return refuse(reply, 400, noPayloads);
      try {
        return writePayloads(await (direction === 'encode' ? codec.encode(payloads) : decode(payloads)));
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        return refuse(reply, 400, error.message);
      }
    });
  }

  const url = await server.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
  return {
    url,
    async close() {
      closing = true;
      // Node sets no time limit for open connections of a closing server, and browsers open spare ones.
      const cut = setTimeout(() => server.server.closeAllConnections(), closeGraceMs);
      await server.close();
      clearTimeout(cut);
    },
  };

  /** Leaves payloads that can't be decrypted unchanged. @throws DecryptionError if none can be. */
  async function decode(payloads: Payload[]): Promise<Payload[]> {
    const failures: DecryptionError[] = [];
    const decoded = await Promise.all(
      payloads.map(async (payload) => {
        try {
          return (await codec.decode([payload]))[0] ?? payload;
        } catch (error) {
          if (!(error instanceof DecryptionError)) throw error;
          failures.push(error);
          return payload;
        }
      }),
    );
    const [failure] = failures;
    if (failure) log(failure.message);
    if (failure && decoded.every((each, index) => each === payloads[index])) throw failure;
    return decoded;
  }
}

function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  return reply.code(status).send({ message });
}

function knows({ headers }: FastifyRequest, token: string): boolean {
  const sent = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(digestOf(sent), digestOf(token));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
