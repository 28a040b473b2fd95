import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The content of one notice. */
export interface Word {
  id: string;
  type: string;
  text: string;
  data: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A webhook listener for notices. */
export interface Listener {
  url: string;
  /** All notices, accepted or not. */
  heard: Word[];
  /** The accepted notices. */
  accepted: Word[];
  /** Statuses of the next answers; 200 when empty. */
  answers: number[];
  close(): void;
}

export const noticeSecret = `whsec_${Buffer.alloc(32, 'a secret of thirty-two bytes').toString('base64')}`;

export async function startListener(): Promise<Listener> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { type, text: said, data } = JSON.parse(body) as Word;
      const word = {
        id: String(request.headers['webhook-id']),
        type,
        text: said,
        data,
        headers: request.headers,
        body,
      };
      const status = listener.answers.shift() ?? 200;
      listener.heard.push(word);
      if (status === 200) listener.accepted.push(word);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listener: Listener = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/T0?key=of-the-url`,
    heard: [],
    accepted: [],
    answers: [],
    close: () => server.close().closeAllConnections(),
  };
  return listener;
}
