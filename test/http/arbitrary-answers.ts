import fc from 'fast-check';
import { errorCodes } from '../../src/contract/error-codes';

/** Arbitrary server answers, from documented ones to bytes that are not HTTP. */

/** JSON values, including those that trip up JavaScript. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, [], {}, '', '0', 0, -1, 1e308, '1.5', '__proto__', 'constructor'),
);

const mostly = <T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anything });

const partOf = (keys: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(keys, { requiredKeys: [] });

const code = fc.oneof(
  fc.constantFrom(...Object.keys(errorCodes)),
  fc.constantFrom('SOME_LATER_CODE', 'lower case', '', 'hasOwnProperty'),
);
const documentError = fc.oneof(
  fc.constant({}),
  partOf({ code: mostly(code), message: mostly(fc.string()), details: anything }),
);

const entity = partOf({
  id: mostly(fc.uuid()),
  type: mostly(fc.constant('task')),
  endpoint: mostly(fc.constant('v1/convert/file')),
  status: mostly(fc.constantFrom('hold', 'running', 'completed', 'paused')),
  vcredits: mostly(fc.oneof(fc.nat(), fc.nat().map(String))),
  created_at: mostly(fc.constant('2026-01-31 23:59:59')),
  started_at: mostly(fc.constant(null)),
  completed_at: mostly(fc.constant('')),
});

const output = partOf({
  connector: mostly(fc.uuid()),
  status: mostly(fc.constantFrom('successful', 'failed', 'partly')),
  duration: mostly(fc.oneof(fc.nat(), fc.nat().map(String))),
  name: mostly(fc.string()),
  size: mostly(fc.nat()),
  expires_at: mostly(fc.constant('2026-01-31 23:59:59')),
  url: mostly(fc.constantFrom('/v1/download/url/get', '//', 'http://[', 'file:///etc/passwd')),
  format: mostly(fc.constant('pdf')),
  extension: mostly(fc.constant('pdf')),
  formats: mostly(fc.array(fc.oneof(fc.constant('pdf'), partOf({ format: mostly(fc.string()) })), { maxLength: 3 })),
  convertible: mostly(fc.boolean()),
});

const result = partOf({
  output: mostly(output),
  error: mostly(documentError),
  warning: mostly(fc.constant({ A: 'b' })),
});

const monitorOutput = partOf({ entity: mostly(entity), payload: anything, result: mostly(result) });

const taskResponse = partOf({
  entity: mostly(entity),
  payload: anything,
  result: mostly(
    fc.oneof(result, partOf({ output: mostly(monitorOutput), error: mostly(documentError), warning: anything })),
  ),
  error: mostly(documentError),
  code: anything,
  message: anything,
});

const bodyText = fc.oneof(
  { weight: 6, arbitrary: mostly(taskResponse).map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '<!DOCTYPE html><title>502</title>', '{"result":', '\u0000', '[[[[', '"'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);
const body = fc.oneof(
  { weight: 5, arbitrary: bodyText.map((text) => Buffer.from(text, 'utf8')) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);

const status = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(200, 400, 403, 404, 405, 429, 500) },
  { weight: 2, arbitrary: fc.integer({ min: 200, max: 599 }) },
  { weight: 1, arbitrary: fc.constantFrom(100, 101, 103, 204, 205, 301, 304, 307, 600, 999) },
);

const headerValue = fc.oneof(
  fc.integer().map(String),
  fc.string({ maxLength: 40 }).map((text) => text.replace(/[^\x20-\x7e]/g, '?')),
  fc.constantFrom('', '-1', '1e3', '99999999999999', 'Wed, 21 Oct 2065 07:28:00 GMT', 'never'),
);
const contentType = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-16',
  'application/problem+json',
  'text/html',
  'image/png',
  'not a type',
  '',
);
const headers = fc.array(
  fc.oneof(
    fc.tuple(
      fc.constantFrom('retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'set-cookie'),
      headerValue,
    ),
    fc.tuple(fc.constant('content-type'), contentType),
    fc.tuple(fc.constant('content-encoding'), fc.constantFrom('gzip', 'br', 'identity', 'x')),
    fc.tuple(fc.constant('location'), fc.constantFrom('/elsewhere', 'http://127.0.0.1:1/', 'gopher://x', '::', '')),
    fc.tuple(fc.constant('connection'), fc.constantFrom('close', 'keep-alive')),
  ),
  { maxLength: 4 },
);

/** How the length of the body is announced; the last three are wrong or contradictory. */
const framing = fc.oneof(
  { weight: 6, arbitrary: fc.constant('length' as const) },
  { weight: 2, arbitrary: fc.constantFrom('chunked' as const, 'none' as const) },
  { weight: 1, arbitrary: fc.constantFrom('short' as const, 'long' as const, 'both' as const) },
);

export interface WireAnswer {
  readonly bytes: Buffer;
  readonly status: number;
  readonly body: Buffer;
  /** Nothing is cut off, and the announced length is correct. */
  readonly whole: boolean;
  readonly ending: 'end' | 'reset' | 'silence';
}

/** A complete or truncated answer, as bytes on the wire. */
export const wireAnswers: fc.Arbitrary<WireAnswer> = fc
  .record({
    status,
    headers,
    body,
    framing,
    cut: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 3 }),
    ending: fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom('end' as const, 'reset' as const) },
      { weight: 1, arbitrary: fc.constant('silence' as const) },
    ),
  })
  .map((answer) => {
    const all = write(answer);
    const bytes = answer.cut === null ? all : all.subarray(0, Math.floor(all.length * answer.cut));
    const whole = bytes.length === all.length && ['length', 'chunked'].includes(answer.framing);
    return { bytes, status: answer.status, body: answer.body, whole, ending: answer.ending };
  });

/** Bytes that may or may not start like HTTP. */
export const garbage: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.constantFrom('HTTP/1.1 200 OK\r\n', 'HTTP/9 000\r\n', 'HTTP/1.1 200\n', '\r\n\r\n'), fc.string())
    .map(([start, rest]) => Buffer.from(start + rest)),
);

function write(answer: {
  status: number;
  headers: [string, string][];
  body: Buffer;
  framing: 'length' | 'chunked' | 'none' | 'short' | 'long' | 'both';
}): Buffer {
  const { length } = answer.body;
  const announced: Record<typeof answer.framing, string[]> = {
    length: [`content-length: ${length}`],
    chunked: ['transfer-encoding: chunked'],
    none: [],
    short: [`content-length: ${Math.floor(length / 2)}`],
    long: [`content-length: ${length + 10}`],
    both: [`content-length: ${length}`, 'transfer-encoding: chunked'],
  };
  const lines = [...answer.headers.map(([name, value]) => `${name}: ${value}`), ...announced[answer.framing]];
  const head = Buffer.from(`HTTP/1.1 ${answer.status} Some\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`);
  if (answer.framing !== 'chunked') return Buffer.concat([head, answer.body]);
  const chunk = length === 0 ? [] : [Buffer.from(`${length.toString(16)}\r\n`), answer.body, Buffer.from('\r\n')];
  return Buffer.concat([head, ...chunk, Buffer.from('0\r\n\r\n')]);
}
