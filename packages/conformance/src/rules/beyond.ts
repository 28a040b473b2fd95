import { endpoints } from 'temporal-file-conversion/contract';
import { isObject, valueAt } from '../reply';
import { beyond, type SectionRule, rule } from '../rule';
import type { Session } from '../session';
import { sample, sampleInput, sampleOutput } from '../target';
import { ensure, ensureAccepted, ensureEqual, ensureError, ensureMatches, ensureOneOf, show } from '../verdict';
import { datetime } from './responses';

/** What the pages around the document say about the tasks that the document leaves out. */

const uploadRules = beyond('Beyond: upload/file', 'page: upload/file', [
  rule('The output holds connector, name, size in bytes and expires_at', async (session) => {
    const reply = await session.upload();
    ensureMatches(reply.at('result', 'output', 'connector'), /./, 'connector');
    ensureMatches(reply.at('result', 'output', 'name'), /./, 'name');
    ensureEqual(reply.at('result', 'output', 'size'), sample.bytes.length, 'size');
    ensureMatches(reply.at('result', 'output', 'expires_at'), datetime, 'expires_at');
  }),
  rule('The file field is required', async (session) => {
    ensureError(await session.post(endpoints.uploadFile, {}), ['MISSING_REQUIRED_FIELD'], 'an upload without a file');
  }),
  uploadError('EMPTY_FILE', { name: 'empty.png', bytes: Buffer.alloc(0) }),
  uploadError('NOT_VALID_EXTENSION', { name: 'conformance.no-such-format', bytes: sample.bytes }),
  rule(
    'LIMIT_UPLOAD_SIZE is answered at HTTP 200, with the limit in KB in the message',
    { needs: 'smallUploadsApp' },
    async (session) => {
      const app = session.capability('smallUploadsApp');
      const file = { name: 'large.png', bytes: Buffer.alloc(app.maxBytes + 1, 'x') };
      const reply = await session.upload({ as: app, file });
      ensureError(reply, ['LIMIT_UPLOAD_SIZE'], 'a file above the limit');
      ensureEqual(reply.status, 200, 'the HTTP status');
      ensure(/\d/.test(reply.errorMessage ?? ''), `the message holds no number: ${reply.errorMessage ?? ''}`);
    },
  ),
]);

function uploadError(code: string, file: { name: string; bytes: Buffer }): SectionRule {
  return rule(`${code} is answered at HTTP 200`, async (session) => {
    const reply = await session.upload({ file });
    ensureError(reply, [code], file.name);
    ensureEqual(reply.status, 200, `the HTTP status of ${code}`);
  });
}

function conversionError(code: string, parameters: Record<string, string>): SectionRule {
  return rule(`${code} is the error of ${JSON.stringify(parameters)} for an image`, async (session) => {
    ensureError(await session.submit({ parameters }), [code], `the conversion ${JSON.stringify(parameters)}`);
  });
}

const convertRules = beyond('Beyond: convert/file', 'page: convert/file', [
  rule(
    'An accepted async conversion answers running, also when it has to wait',
    { source: 'client: all' },
    async (session) => {
      const { accepted: first, second } = await session.started();
      for (const accepted of [first, second.accepted]) {
        ensureEqual(accepted.at('entity', 'status'), 'running', 'entity.status');
      }
    },
  ),
  rule('The entity.id of an async answer is the connector to monitor', async (session) => {
    const { connector, early } = await session.started();
    ensureEqual(early.at('result', 'output', 'entity', 'id'), connector, 'the id of the monitored task');
  }),
  rule(
    'The result of an async answer is an object with error and warning, and no error in it',
    { source: 'client: Python 1.x' },
    async (session) => {
      const { accepted } = await session.seenRunning();
      ensureEqual(accepted.at('result', 'error'), {}, 'the error of an async answer');
      ensure(isObject(accepted.at('result', 'warning')), `the result is ${show(accepted.at('result'))}`);
    },
  ),
  rule('parameters.input names the format of the uploaded file', async (session) => {
    const { reply } = await session.convert({}, { input: sampleInput, output: sampleOutput });
    ensureAccepted(reply, 'a conversion with parameters.input');
  }),
  rule('FAILED_CONVERT is the error of a file that cannot be converted', async (session) => {
    const { reply } = await session.failed();
    ensureOneOf(reply.errorCode, ['FAILED_CONVERT', 'INVALID_INPUT_FORMAT'], 'the error of a broken image');
  }),
  conversionError('INVALID_OUTPUT_FORMAT', { output: 'nosuchformat' }),
  conversionError('WRONG_OUTPUT_FORMAT_STRUCTURE', { output: 'p.d.f' }),
  conversionError('INVALID_INPUT_FORMAT', { output: sampleOutput, input: 'nosuchformat' }),
  conversionError('WRONG_INPUT_FORMAT_STRUCTURE', { output: sampleOutput, input: 'p.n.g' }),
  conversionError('NOT_MATCH_EXTENSION_AND_INPUT', { output: sampleOutput, input: 'docx' }),
  conversionError('NO_CONVERTER_INPUT_TO_OUTPUT', { output: 'docx' }),
]);

const downloadRules = beyond('Beyond: download', 'page: download/url', [
  rule('The output of download/url holds connector, name, size in bytes, expires_at and url', async (session) => {
    const link = await session.linked();
    for (const key of ['connector', 'name', 'url']) ensureMatches(link.at('result', 'output', key), /./, key);
    const size = link.at('result', 'output', 'size');
    ensure(typeof size === 'number' && size > 0, `size is ${show(size)}`);
    ensureMatches(link.at('result', 'output', 'expires_at'), datetime, 'expires_at');
  }),
  rule('download/url/get answers the bytes of the converted file, as many as size says', async (session) => {
    const link = await session.linked();
    const connector = link.text('result', 'output', 'connector') ?? '';
    const file = await session.post(endpoints.downloadUrlGet, { connector });
    ensureEqual(file.status, 200, 'the HTTP status');
    ensureEqual(file.bytes.length, link.at('result', 'output', 'size'), 'the number of bytes');
  }),
  rule('url is the absolute address of download/url/get', async (session) => {
    const url = (await session.linked()).text('result', 'output', 'url') ?? '';
    const isAbsolute = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
    ensure(isAbsolute && new URL(url).pathname.endsWith('/download/url/get'), `url is ${show(url)}`);
  }),
  rule(
    'A JSON body of download/url/get is an error',
    { source: 'client: Python 2.x and JavaScript' },
    async (session) => {
      const reply = await session.post(endpoints.downloadUrlGet, { connector: await session.uploaded() });
      ensureError(reply, ['MISMATCH_DEPENDENT_TASK'], 'download/url/get with the connector of an upload');
    },
  ),
]);

const formatRules = beyond('Beyond: formats', 'page: convert/formats', [
  rule('convert/formats lists the formats that are inputs or outputs', async (session) => {
    for (const sublist of ['inputs', 'outputs']) {
      const reply = await session.post(endpoints.convertFormats, { parameters: { sublist } });
      const formats = reply.at('result', 'output', 'formats');
      ensure(Array.isArray(formats) && formats.length > 0, `formats of ${sublist} is ${show(formats)}`);
    }
  }),
  rule('convert/formats with a format lists only what converts with it', async (session) => {
    const all = await session.post(endpoints.convertFormats, { parameters: { sublist: 'outputs' } });
    const some = await session.post(endpoints.convertFormats, {
      parameters: { sublist: 'outputs', format: sampleInput },
    });
    const [everything, few] = [all, some].map((reply) => reply.at('result', 'output', 'formats'));
    ensure(Array.isArray(few) && Array.isArray(everything), `formats is ${show(few)}`);
    ensure(few.length > 0 && few.length < everything.length, `${few.length} of ${everything.length} formats`);
  }),
  rule('convert/formats requires sublist, and takes inputs and outputs only', async (session) => {
    const missing = await session.post(endpoints.convertFormats, { parameters: {} });
    ensureError(missing, ['MISSING_REQUIRED_PARAMETER'], 'convert/formats without sublist');
    const wrong = await session.post(endpoints.convertFormats, { parameters: { sublist: 'all' } });
    ensureError(wrong, ['WRONG_VALUE_PARAMETER', 'INVALID_PARAMETER'], 'the sublist all');
    const number = await session.post(endpoints.convertFormats, { parameters: { sublist: 5 } });
    ensureError(number, ['WRONG_TYPE_PARAMETER'], 'the sublist 5');
  }),
  ...[endpoints.convertFormats, endpoints.formatGet].map((endpoint): SectionRule =>
    rule(
      `${endpoint} answers INVALID_FORMAT and WRONG_FORMAT_STRUCTURE at HTTP 200`,
      { source: endpoint === endpoints.formatGet ? 'page: format/get' : 'page: convert/formats' },
      (session) =>
        ensureFormatErrors(session, endpoint, [
          ['INVALID_FORMAT', { sublist: 'outputs', format: 'nosuchformat' }],
          ['WRONG_FORMAT_STRUCTURE', { sublist: 'outputs', format: 'p.d.f' }],
        ]),
    ),
  ),
  rule('A format is named by its extension, or by extension-type', async (session) => {
    const reply = await session.post(endpoints.convertFormats, { parameters: { sublist: 'inputs' } });
    const formats = reply.at('result', 'output', 'formats');
    for (const format of Array.isArray(formats) ? formats : []) {
      const [extension, type] = [valueAt(format, ['extension']), valueAt(format, ['type'])];
      const name = typeof type === 'string' ? `${String(extension)}-${type}` : extension;
      ensureEqual(valueAt(format, ['format']), name, 'format');
    }
  }),
  rule(
    'format/get describes a format: format, extension, type, name, title, categories',
    { source: 'page: format/get' },
    async (session) => {
      const output = (await session.post(endpoints.formatGet, { parameters: { format: 'png' } })).at(
        'result',
        'output',
      );
      ensure(isObject(output), `output is ${show(output)}`);
      for (const key of ['format', 'extension']) ensureEqual(output[key], 'png', key);
      for (const key of ['name', 'title']) ensureMatches(output[key], /./, key);
      ensure(output['name'] !== 'png', 'name is the short name, not the full one');
      ensure(output['type'] === null || typeof output['type'] === 'string', `type is ${show(output['type'])}`);
      ensure(Array.isArray(output['categories']), `categories is ${show(output['categories'])}`);
    },
  ),
  rule(
    'convert/graph tells with is_match whether a pair converts, and with is_reversable whether it does back',
    { source: 'page: convert/graph' },
    async (session) => {
      const parameters = { input: sampleInput, output: sampleOutput };
      const good = await session.post(endpoints.convertGraph, { parameters });
      ensureEqual(good.at('result', 'output', 'is_match'), true, 'is_match of a pair that converts');
      const reversable = good.at('result', 'output', 'is_reversable');
      ensure(typeof reversable === 'boolean', `is_reversable is ${show(reversable)}`);
    },
  ),
  rule(
    'convert/graph answers is_match false, and no error, for known formats without a converter',
    { source: 'inferred: convert/graph' },
    async (session) => {
      const bad = await session.post(endpoints.convertGraph, { parameters: { input: sampleInput, output: 'docx' } });
      ensureEqual(bad.at('result', 'error'), {}, 'the error');
      ensureEqual(bad.at('result', 'output', 'is_match'), false, 'is_match of a pair that does not convert');
    },
  ),
  rule(
    'convert/graph answers at HTTP 200 which of the formats is wrong',
    { source: 'page: convert/graph' },
    (session) =>
      ensureFormatErrors(session, endpoints.convertGraph, [
        ['INVALID_INPUT_FORMAT', { input: 'nosuchformat', output: sampleOutput }],
        ['INVALID_OUTPUT_FORMAT', { input: sampleInput, output: 'nosuchformat' }],
        ['WRONG_INPUT_FORMAT_STRUCTURE', { input: 'p.n.g', output: sampleOutput }],
        ['WRONG_OUTPUT_FORMAT_STRUCTURE', { input: sampleInput, output: 'p.d.f' }],
      ]),
  ),
  rule(
    'convert/status is waiting, pending, successful or failed',
    { source: 'page: convert/status' },
    async (session) => {
      const connectors = [(await session.converted()).connector, (await session.failed()).connector];
      const seen: unknown[] = [];
      for (const connector of connectors) {
        const reply = await session.post(endpoints.convertStatus, { connector });
        seen.push(reply.at('result', 'output', 'status'));
      }
      ensureEqual(seen, ['successful', 'failed'], 'the status of a conversion that succeeded and of one that failed');
    },
  ),
]);

async function ensureFormatErrors(
  session: Session,
  endpoint: string,
  cases: readonly [code: string, parameters: Record<string, string>][],
): Promise<void> {
  for (const [code, { sublist, ...rest }] of cases) {
    const needsSublist = endpoint === endpoints.convertFormats;
    const parameters = needsSublist ? { sublist, ...rest } : rest;
    const reply = await session.post(endpoint, { parameters });
    ensureError(reply, [code], `${endpoint} with ${JSON.stringify(parameters)}`);
    ensureEqual(reply.status, 200, `the HTTP status of ${code}`);
  }
}

export const beyondRules = [...uploadRules, ...convertRules, ...downloadRules, ...formatRules];
