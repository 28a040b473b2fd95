import type { FastifyInstance } from 'fastify';
import { sendJson } from '../reply';
import { describeService } from './description';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Anybody may ask, with GET and without a token. */
    open?: boolean;
  }
}

/** `/openapi.json`: the one thing that the service tells without a token. */
export function addDescriptionRoute(server: FastifyInstance): void {
  let json: string | undefined;
  server.get('/openapi.json', { config: { open: true } }, (_request, reply) => {
    json ??= JSON.stringify(describeService());
    return sendJson(reply, 200, json);
  });
}
