import fc from 'fast-check';
import { endpoints } from '../../../../src/contract/endpoints';

/** Generates requests that a public service must survive: nearly valid ones, odd ones, and bytes that are not HTTP. */

export interface RawRequest {
  readonly path: string;
  readonly headers: readonly [string, string][];
  readonly body: Buffer;
}

/** A real app with real tasks, which gets requests past the first check. */
export interface Known {
  readonly appId: string;
  readonly token: string;
  readonly connectors: readonly string[];
}

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', '0', '__proto__', '../../etc/passwd', '\u0000', '\r\n', "'; DROP TABLE tasks; --", '💥', 'free'),
);
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), oddText, fc.constantFrom(null, [], {}, -1, 1e308, 0.1));

const anyPath = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Object.values(endpoints)).map((endpoint) => `/${endpoint}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('/', '/v1', '/%', '/%00', '/v1/convert/file/', '/v1//convert/file', '/..%2f..', '/?%'),
  },
);

/** Valid data for each endpoint; the connectors are of all kinds of tasks. */
function rightData({ appId, connectors }: Known): fc.Arbitrary<{ path: string; data: Record<string, unknown> }> {
  const format = fc.constantFrom('png', 'webp', 'pdf', 'md', 'docx', 'md-gfm');
  const include = fc.array(fc.constantFrom('entity', 'payload', 'result'), { maxLength: 4 });
  const connector = fc.constantFrom(...connectors);
  const app = fc.constant(appId);
  const templates: [string, Record<string, fc.Arbitrary<unknown>>][] = [
    [endpoints.uploadFile, { include }],
    // Sync conversions would make the run wait for engines.
    [
      endpoints.convertFile,
      { connector, include, mode: fc.constant('async'), parameters: fc.record({ output: format }) },
    ],
    [endpoints.taskResponse, { connector, include, parameters: fc.record({ include }) }],
    [endpoints.downloadUrl, { connector, include }],
    [endpoints.downloadUrlGet, { connector }],
    [endpoints.convertStatus, { connector }],
    [endpoints.convertFormats, { parameters: fc.record({ sublist: fc.constantFrom('inputs', 'outputs') }) }],
    [endpoints.convertGraph, { parameters: fc.record({ input: format, output: format }) }],
    [endpoints.formatGet, { parameters: fc.record({ format }) }],
  ];
  return fc.oneof(
    ...templates.map(([endpoint, keys]) =>
      fc.record({ app, ...keys }).map((data) => ({ path: `/${endpoint}`, data: { ...data } })),
    ),
  );
}

/** Valid data, or data with one change in its keys or parameters. */
function dataOf(known: Known): fc.Arbitrary<{ path: string; data: unknown }> {
  const key = fc.constantFrom('app', 'connector', 'include', 'mode', 'callback', 'parameters', 'output', 'input', 'x');
  const change = fc.option(fc.record({ key, value: fc.option(anything, { nil: undefined }), deep: fc.boolean() }));
  return fc.tuple(rightData(known), change).map(([{ path: where, data }, changed]) => {
    if (!changed) return { path: where, data };
    const place = { [changed.key]: changed.value };
    return {
      path: where,
      data: changed.deep
        ? { ...data, parameters: { ...asObject(data['parameters']), ...place } }
        : { ...data, ...place },
    };
  });
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

const oddJson = fc.constantFrom(
  '{"app":',
  '',
  '[',
  '['.repeat(50_000),
  `{"a":`.repeat(20_000),
  '{"app":1,"app":2}',
  '{"__proto__":{"app":"x"}}',
  '\ufeff{}',
  '{"app":"\\ud800"}',
  '{"x":1e99999}',
);

function dataTextOf(known: Known): fc.Arbitrary<{ path: string; text: string }> {
  const right = dataOf(known).map(({ path: where, data }) => ({ path: where, text: JSON.stringify(data) }));
  const odd = fc.record({
    path: anyPath,
    text: fc.oneof(
      oddJson,
      anything.map((value) => JSON.stringify(value)),
    ),
  });
  return fc.oneof({ weight: 8, arbitrary: right }, { weight: 1, arbitrary: odd });
}

const disposition = fc.constantFrom(
  'form-data; name="data"',
  'form-data; name=data',
  'form-data; name="file"; filename="a.png"',
  'form-data; name="file"; filename="../../x.md"',
  'form-data; name="file"; filename="\u0000.png"',
  'form-data; name="file"',
  'form-data; name="data"; filename="d.json"',
  'form-data; name=""',
  'form-data',
  'attachment',
  '',
);
const partHeaders = fc.array(
  fc.constantFrom(
    'Content-Type: application/json',
    'Content-Type: text/plain; charset=utf-16',
    'Content-Type: x',
    'Content-Transfer-Encoding: base64',
    'X: y',
    ': ',
    'nothing',
  ),
  { maxLength: 2 },
);

interface Part {
  readonly disposition: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

const bytes = fc.uint8Array({ maxLength: 100 }).map((value) => Buffer.from(value));
const file = fc.record({
  disposition: fc.constantFrom('form-data; name="file"; filename="a.md"', 'form-data; name="file"; filename="a.png"'),
  headers: fc.constant<string[]>([]),
  body: bytes,
});
const oddPart = fc.record({ disposition, headers: partHeaders, body: bytes });

/** The field `data`, the file of an upload, and sometimes odd parts. */
function partsWith(text: string, path: string): fc.Arbitrary<Part[]> {
  const data: Part = { disposition: 'form-data; name="data"', headers: [], body: Buffer.from(text, 'utf8') };
  const isUpload = path === `/${endpoints.uploadFile}`;
  const right: fc.Arbitrary<Part[]> = isUpload ? file.map((part) => [data, part]) : fc.constant([data]);
  const odd = fc.array(fc.oneof(file, oddPart, fc.constant(data)), { maxLength: 4 });
  return fc.oneof({ weight: 3, arbitrary: right }, { weight: 1, arbitrary: odd });
}

const contentTypes: Readonly<Record<string, (boundary: string) => string>> = {
  plain: (boundary) => `multipart/form-data; boundary=${boundary}`,
  quoted: (boundary) => `multipart/form-data; boundary="${boundary}"`,
  without: () => 'multipart/form-data',
  empty: () => 'multipart/form-data; boundary=',
  mixed: () => 'multipart/mixed; boundary=b',
};

const multipartOf = (text: string, path: string): fc.Arbitrary<{ type: string; body: Buffer }> =>
  fc
    .record({
      parts: partsWith(text, path),
      boundary: fc.oneof({ weight: 6, arbitrary: fc.constantFrom('b', '----x') }, fc.constantFrom('a b', '"')),
      type: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom('plain', 'quoted') },
        fc.constantFrom(...Object.keys(contentTypes)),
      ),
      ending: fc.oneof({ weight: 6, arbitrary: fc.constant('--\r\n') }, fc.constantFrom('--', '', '\r\n', '\r\n\r\n')),
    })
    .map(({ parts, boundary, type, ending }) => {
      const chunks = parts.flatMap((part) => {
        const head = [`Content-Disposition: ${part.disposition}`, ...part.headers].join('\r\n');
        return [Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), part.body, Buffer.from('\r\n')];
      });
      const body = Buffer.concat([...chunks, Buffer.from(`--${boundary}${ending}`)]);
      return { type: contentTypes[type]?.(boundary) ?? type, body };
    });

function bodyOf(text: string, path: string): fc.Arbitrary<{ type: string; body: Buffer }> {
  const urlencoded = fc.constant({
    type: 'application/x-www-form-urlencoded',
    body: Buffer.from(new URLSearchParams({ data: text }).toString()),
  });
  const oddForm = fc.constantFrom('data=%', 'data=%ff', 'data=1&data=2', 'data[a]=1', '__proto__[x]=1', '&&&=');
  const odd = fc.record({
    type: fc.constantFrom(
      'application/x-www-form-urlencoded',
      'application/json',
      'text/plain',
      '/',
      'multipart/form-data; boundary=b',
    ),
    body: fc.oneof(
      bytes,
      oddForm.map((form) => Buffer.from(form)),
    ),
  });
  return fc.oneof(
    { weight: 6, arbitrary: multipartOf(text, path) },
    { weight: 2, arbitrary: urlencoded },
    { weight: 1, arbitrary: odd },
  );
}

/** Valid HTTP requests with a complete body. */
export function rawRequests(known: Known): fc.Arbitrary<RawRequest> {
  const authorization = fc.oneof(
    { weight: 8, arbitrary: fc.constant(`Bearer ${known.token}`) },
    { weight: 1, arbitrary: fc.constantFrom('', 'Bearer', 'Bearer x', `bearer  ${known.token}`, 'Basic Og==') },
  );
  return dataTextOf(known).chain(({ path, text }) =>
    fc.record({ form: bodyOf(text, path), authorization }).map((made) => ({
      path,
      headers: [
        ['content-type', made.form.type],
        ['authorization', made.authorization],
      ],
      body: made.form.body,
    })),
  );
}

/** Bytes to send on a connection, possibly truncated. */
export function rawBytes({ token }: Known): fc.Arbitrary<Buffer> {
  const start = 'POST /v1/upload/file HTTP/1.1\r\nhost: x\r\n';
  const auth = `authorization: Bearer ${token}\r\n`;
  const form = 'content-type: multipart/form-data; boundary=b\r\n';
  return fc
    .tuple(
      fc.constantFrom(
        '',
        start,
        `${start}${auth}${form}content-length: 1000\r\n\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n`,
        `${start}${auth}${form}transfer-encoding: chunked\r\n\r\nffffff\r\n--b\r\n`,
        `${start}${auth}content-length: -1\r\n\r\n`,
        `${start}${auth}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
        `GET /${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
        `${start}x: ${'y'.repeat(70_000)}\r\n\r\n`,
      ),
      fc.uint8Array({ maxLength: 200 }),
    )
    .map(([text, bytes]) => Buffer.concat([Buffer.from(text), Buffer.from(bytes)]));
}
