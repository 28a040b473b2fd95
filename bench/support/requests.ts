import { FormData, request } from 'undici';
import { app } from './app';

export interface NamedBlob {
  readonly name: string;
  readonly data: Blob;
}

/** One request of a client that is written by hand. */
export async function post(baseUrl: string, task: string, data: object, file?: NamedBlob) {
  const form = new FormData();
  form.set('data', JSON.stringify({ app: app.appId, ...data }));
  if (file) form.set('file', file.data, file.name);
  const headers = { authorization: `Bearer ${app.token}` };
  return request(`${baseUrl}/v1/${task}`, { method: 'POST', headers, body: form });
}

export function connectorOf(answer: string): string {
  const connector = /"connector":"([^"]+)"/.exec(answer)?.[1];
  if (connector === undefined) throw new Error(`No connector in ${answer}`);
  return connector;
}
