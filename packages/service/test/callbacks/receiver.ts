import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import path from 'node:path';
import { until } from '../../../../test/support/until';
import { openDatabase } from '../../src/shared/database';
import { CallbackStore } from '../../src/tasks/task-store';
import { createApp, type TestApp } from '../support';

export interface ReceivedCallback {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

/** Answers a callback; `count` is 1 for the first callback. */
type Answer = (response: ServerResponse, count: number, received: ReceivedCallback) => void;

export interface Receiver {
  /** Ends with a slash. */
  readonly url: string;
  readonly port: number;
  readonly received: readonly ReceivedCallback[];
  /** Resolves once `wanted` callbacks have arrived. */
  readonly count: (wanted: number) => Promise<readonly ReceivedCallback[]>;
  readonly close: () => Promise<void>;
}

export const answerOk: Answer = (response) => void response.writeHead(204).end();

export async function startReceiver(
  answer: Answer = answerOk,
  { host = '127.0.0.1', port = 0 }: { host?: string; port?: number } = {},
): Promise<Receiver> {
  const received: ReceivedCallback[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const callback = { method, path: url, headers, body: Buffer.concat(chunks).toString('utf8'), at: Date.now() };
      received.push(callback);
      answer(response, received.length, callback);
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return {
    url: `http://${host}:${address.port}/`,
    port: address.port,
    received,
    count: async (wanted) => {
      await until(`${wanted} callback(s)`, () => received.length >= wanted);
      return received;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An app whose callbacks may go to the receivers of these tests. */
export function createCallbackApp(
  hosts: readonly string[] = ['127.0.0.1'],
  privateHosts: readonly string[] = hosts,
): TestApp {
  const { app, token } = createApp();
  return { app: { ...app, callbackDomains: hosts, privateCallbackHosts: privateHosts }, token };
}

export function deliveryOf(dataDir: string, task: string) {
  const db = openDatabase(path.join(dataDir, 'service.db'));
  try {
    return new CallbackStore(db).find(task);
  } finally {
    db.close();
  }
}

/** The delivery, once it was delivered or has failed. */
export async function endedDelivery(dataDir: string, task: string) {
  await until('the delivery has ended', () => deliveryOf(dataDir, task)?.endedAt != null);
  return deliveryOf(dataDir, task);
}
