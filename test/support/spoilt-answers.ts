import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { errorMessage, lookUpErrorCode, type KnownErrorCode } from '../../src/contract/error-codes';
import type { chanceOf } from './chance';
import { stubToken } from './stub-service';

/** An answer of a service, and what becomes of it on its way. */
export interface Wire {
  status: number;
  headers: Record<string, string | number>;
  body: Buffer;
  /** As the service gave it. */
  isRight?: true;
  /** Bytes after which the connection is cut. */
  cutAt?: number;
  waitMs?: number;
}

type Chance = ReturnType<typeof chanceOf>;

interface Spoiling {
  chance: Chance;
  /** Where a redirect may lead. */
  elsewhere: readonly string[];
}

/** A gateway's, in place of an answer. */
export const page = Buffer.from(`<!DOCTYPE html><html><title>Bearer ${stubToken}</title>${' '.repeat(500)}</html>`);
export const json = (body: unknown, status = 200): Wire => ({
  ...{ status, headers: { 'content-type': 'application/json' } },
  body: Buffer.from(JSON.stringify(body)),
});
export const output = (value: object): Wire => json({ result: { output: value, error: {}, warning: {} } });

/** Quotes the token. */
export function refusal(
  code: string,
  { status = lookUpErrorCode(code)?.httpStatus ?? 400, callback = '', entity = {} } = {},
) {
  const text = lookUpErrorCode(code) ? errorMessage(code as KnownErrorCode, 'x') : code;
  const error = { code, message: `${text} Bearer ${stubToken} ${callback}` };
  return json({ entity, result: { output: {}, error, warning: {} } }, status);
}

const cut = (wire: Wire, cutAt: number) => ({ ...wire, cutAt });
const inChunk = (body: Buffer, end: string) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from(end)]);
const chunked = ({ headers }: Wire) => ({ ...headers, 'transfer-encoding': 'chunked' });
const promising = ({ headers, body }: Wire, more: number) => ({
  headers: { ...headers, 'content-length': body.length + more },
});

const spoils: Record<string, (wire: Wire, spoiling: Spoiling) => Partial<Wire>> = {
  late: (_wire, { chance }) => ({ waitMs: chance.random() * 600 }),
  tooLate: () => ({ waitMs: 2_500 }),
  cutBefore: (wire) => cut(wire, 0),
  cutInHead: (wire) => cut(wire, 12),
  cutInBody: (wire, { chance }) => cut(wire, 60 + chance.random() * wire.body.length),
  truncated: ({ body }, { chance }) => ({ body: body.subarray(0, chance.random() * body.length) }),
  promisesMore: (wire) => promising(wire, 10),
  promisesLess: (wire) => promising(wire, -3),
  longer: ({ body }) => ({ body: Buffer.concat([body, Buffer.alloc(3_000, 'y')]) }),
  chunked: (wire) => ({ headers: chunked(wire), body: inChunk(wire.body, '\r\n0\r\n\r\n') }),
  withoutEnd: (wire) => ({ headers: chunked(wire), body: inChunk(wire.body, '') }),
  withoutLength: ({ headers }) => ({ headers: { ...headers, connection: 'close' } }),
  empty: () => ({ body: Buffer.of() }),
  // As long as the answer, where that is longer.
  page: ({ body }) => ({
    headers: { 'content-type': 'text/html' },
    body: Buffer.concat([page, Buffer.alloc(Math.max(body.length - page.length, 0), ' ')]),
  }),
  error: () => ({
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"code":"GATEWAY_FAILED","message":"no"}'),
  }),
  gzip: ({ headers, body }) => ({ headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(body) }),
  byteOrderMark: ({ body }) => ({ body: Buffer.concat([Buffer.from('\ufeff'), body]) }),
  doubledKeys: ({ body }) => ({
    body: Buffer.from(body.toString('latin1').replace(/^\{/, '{"result":7,"entity":[],'), 'latin1'),
  }),
  odd: ({ body, headers }, { chance }) =>
    headers['content-type'] === 'application/json'
      ? { body: Buffer.from(JSON.stringify(madeOdd(JSON.parse(body.toString()), chance))) }
      : {},
  otherStatus: (_wire, { chance }) => ({ status: chance.pick([201, 204, 206, 304]) }),
  moved: ({ headers }, { chance, elsewhere }) => ({
    status: chance.pick([301, 302, 307, 308]),
    headers: { ...headers, location: chance.pick(elsewhere) },
    body: page,
  }),
};

/** An answer as it may arrive, and the name of what became of it. */
export function spoilt(wire: Wire, spoiling: Spoiling): [string, Wire] {
  const [name, spoil] = spoiling.chance.pick(Object.entries(spoils));
  return [name, { ...wire, ...spoil(wire, spoiling) }];
}

const oddValues = [null, '', 'x', 0, -1, 1.5, 1e308, true, [], {}, [1], { a: 1 }, '//', 'file:///etc/passwd'];

/** Takes away, adds or replaces one value somewhere in a JSON value. */
function madeOdd(value: unknown, chance: Chance): unknown {
  const isInner = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (!isInner || chance.mayBe(0.15)) return chance.pick(oddValues);
  const key = chance.pick(Object.keys(value));
  const { [key]: inner, ...others } = value as Record<string, unknown>;
  if (chance.mayBe(0.15)) return others;
  if (chance.mayBe(0.15)) return { ...value, more: chance.pick(oddValues) };
  return { ...value, [key]: madeOdd(inner, chance) };
}

/** Closes the connection after an answer that is not right. */
export async function send(response: ServerResponse, wire: Wire): Promise<void> {
  const { status, body, cutAt, waitMs = 0 } = wire;
  const headers = { ...wire.headers };
  await sleep(waitMs);
  if (wire.isRight) {
    response.writeHead(status, { ...headers, 'content-length': body.length }).end(body);
    return;
  }
  if (!('transfer-encoding' in headers) && headers['connection'] !== 'close') headers['content-length'] ??= body.length;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`), body]);
  const { socket } = response;
  if (cutAt === undefined) socket?.end(bytes);
  else socket?.write(bytes.subarray(0, cutAt), () => socket.resetAndDestroy());
}
