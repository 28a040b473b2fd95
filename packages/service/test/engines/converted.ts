import type { TestClient } from '../support';

/** Converts, and returns the warnings and the words of the result as one line; of a PDF, the visible words. */
export function convertingWith(client: TestClient) {
  return async (name: string, data: string | Buffer, output = 'txt') => {
    const { bytes, warning } = await client.convertToBytes({ name, data }, output);
    const isPdf = output === 'pdf';
    const text = isPdf ? (await client.convertToBytes({ name: 'a.pdf', data: bytes }, 'txt')).bytes : bytes;
    return { text: text.toString('utf8').split(/\s+/).join(' ').trim(), warning };
  };
}
