import { type Endpoint, endpoints, isObject } from 'temporal-file-conversion/contract';
import { type Reply, valueAt } from '../reply';
import { beyond, type Check, type Checks, from } from '../rule';
import type { Session } from '../session';
import { sample, sampleInput, sampleOutput } from '../target';
import { ensure, ensureAccepted, ensureEqual, ensureError, ensureMatches, ensureOneOf, show } from '../verdict';
import { datetime } from './responses';

/** Rules from the pages around the document, about tasks that the document leaves out. */

function uploadError(code: string, file: { name: string; bytes: Buffer }): Checks {
  return {
    [`${code} is answered at HTTP 200`]: async (session) => {
      const reply = await session.upload({ file });
      ensureError(reply, [code], file.name);
      ensureEqual(reply.status, 200, `the HTTP status of ${code}`);
    },
  };
}

function conversionError(code: string, parameters: Record<string, string>): Checks {
  return {
    [`${code} is the error of ${JSON.stringify(parameters)} for an image`]: async (session) => {
      ensureError(await session.submit({ parameters }), [code], `the conversion ${JSON.stringify(parameters)}`);
    },
  };
}

/** The answer of an endpoint that accepts valid requests; if it does not, only the first rule reports that. */
async function ask(session: Session, endpoint: Endpoint, parameters: object): Promise<Reply> {
  await session.served(endpoint);
  return session.post(endpoint, { parameters });
}

async function formatsOf(session: Session, parameters: Record<string, string>): Promise<unknown> {
  return (await ask(session, endpoints.convertFormats, parameters)).at('result.output.formats');
}

function wrongFormats(endpoint: Endpoint, parameters: Record<string, string>): Record<string, Check> {
  return {
    [`${endpoint} answers INVALID_FORMAT and WRONG_FORMAT_STRUCTURE at HTTP 200`]: (session) =>
      ensureFormatErrors(session, endpoint, [
        ['INVALID_FORMAT', { ...parameters, format: 'nosuchformat' }],
        ['WRONG_FORMAT_STRUCTURE', { ...parameters, format: 'p.d.f' }],
      ]),
  };
}

async function ensureFormatErrors(
  session: Session,
  endpoint: Endpoint,
  cases: readonly [code: string, parameters: Record<string, string>][],
): Promise<void> {
  for (const [code, parameters] of cases) {
    const reply = await ask(session, endpoint, parameters);
    ensureError(reply, [code], `${endpoint} with ${JSON.stringify(parameters)}`);
    ensureEqual(reply.status, 200, `the HTTP status of ${code}`);
  }
}

export const beyondRules = [
  ...beyond('Beyond: upload/file', 'page: upload/file', {
    async 'The output holds connector, name, size in bytes and expires_at'(session) {
      const reply = await session.upload();
      ensureMatches(reply.at('result.output.connector'), /./, 'connector');
      ensureMatches(reply.at('result.output.name'), /./, 'name');
      ensureEqual(reply.at('result.output.size'), sample.bytes.length, 'size');
      ensureMatches(reply.at('result.output.expires_at'), datetime, 'expires_at');
    },
    async 'The file field is required'(session) {
      ensureError(await session.post(endpoints.uploadFile, {}), ['MISSING_REQUIRED_FIELD'], 'an upload without a file');
    },
    ...uploadError('EMPTY_FILE', { name: 'empty.png', bytes: Buffer.alloc(0) }),
    ...uploadError('NOT_VALID_EXTENSION', { name: 'conformance.no-such-format', bytes: sample.bytes }),
    async 'LIMIT_UPLOAD_SIZE is answered at HTTP 200, with the limit in KB in the message'(session) {
      const app = session.capability('smallUploadsApp');
      const file = { name: 'large.png', bytes: Buffer.alloc(app.maxBytes + 1, 'x') };
      const reply = await session.upload({ as: app, file });
      ensureError(reply, ['LIMIT_UPLOAD_SIZE'], 'a file above the limit');
      ensureEqual(reply.status, 200, 'the HTTP status');
      ensure(/\d/.test(reply.errorMessage ?? ''), `the message holds no number: ${reply.errorMessage ?? ''}`);
    },
  }),
  ...beyond('Beyond: convert/file', 'page: convert/file', {
    ...from('client: all', {
      async 'An accepted async conversion answers running, also when it has to wait'(session) {
        const { accepted: first, second } = await session.started();
        for (const accepted of [first, second.accepted]) {
          ensureEqual(accepted.at('entity.status'), 'running', 'entity.status');
        }
      },
    }),
    async 'The entity.id of an async answer is the connector to monitor'(session) {
      const { connector, early } = await session.started();
      ensureEqual(early.at('result.output.entity.id'), connector, 'the id of the monitored task');
    },
    ...from('client: Python 1.x', {
      async 'The result of an async answer is an object with error and warning, and no error in it'(session) {
        const { accepted } = await session.seenRunning();
        ensureEqual(accepted.at('result.error'), {}, 'the error of an async answer');
        ensure(isObject(accepted.at('result.warning')), `the result is ${show(accepted.at('result'))}`);
      },
    }),
    async 'parameters.input names the format of the uploaded file'(session) {
      const { reply } = await session.convert({}, { input: sampleInput, output: sampleOutput });
      ensureAccepted(reply, 'a conversion with parameters.input');
    },
    async 'FAILED_CONVERT is the error of a file that cannot be converted'(session) {
      const { reply } = await session.failed();
      ensureOneOf(reply.errorCode, ['FAILED_CONVERT', 'INVALID_INPUT_FORMAT'], 'the error of a broken image');
    },
    ...conversionError('INVALID_OUTPUT_FORMAT', { output: 'nosuchformat' }),
    ...conversionError('WRONG_OUTPUT_FORMAT_STRUCTURE', { output: 'p.d.f' }),
    ...conversionError('INVALID_INPUT_FORMAT', { output: sampleOutput, input: 'nosuchformat' }),
    ...conversionError('WRONG_INPUT_FORMAT_STRUCTURE', { output: sampleOutput, input: 'p.n.g' }),
    ...conversionError('NOT_MATCH_EXTENSION_AND_INPUT', { output: sampleOutput, input: 'docx' }),
    ...conversionError('NO_CONVERTER_INPUT_TO_OUTPUT', { output: 'docx' }),
  }),
  ...beyond('Beyond: download', 'page: download/url', {
    async 'The output of download/url holds connector, name, size in bytes, expires_at and url'(session) {
      const link = await session.linkAnswer();
      for (const key of ['connector', 'name', 'url']) ensureMatches(link.at(`result.output.${key}`), /./, key);
      const size = link.at('result.output.size');
      ensure(typeof size === 'number' && size > 0, `size is ${show(size)}`);
      ensureMatches(link.at('result.output.expires_at'), datetime, 'expires_at');
    },
    async 'download/url/get answers the bytes of the converted file, as many as size says'(session) {
      const link = await session.linked();
      const { link: connector } = await session.connectors();
      const file = await session.post(endpoints.downloadUrlGet, { connector });
      ensureEqual(file.status, 200, 'the HTTP status');
      ensureEqual(file.bytes.length, link.at('result.output.size'), 'the number of bytes');
    },
    async 'url is the absolute address of download/url/get'(session) {
      const url = (await session.linked()).text('result.output.url') ?? '';
      const isAbsolute = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
      ensure(isAbsolute && new URL(url).pathname.endsWith('/download/url/get'), `url is ${show(url)}`);
    },
    ...from('client: Python 2.x and JavaScript', {
      async 'A JSON body of download/url/get is an error'(session) {
        const reply = await session.post(endpoints.downloadUrlGet, { connector: await session.uploaded() });
        ensureError(reply, ['MISMATCH_DEPENDENT_TASK'], 'download/url/get with the connector of an upload');
      },
    }),
  }),
  ...beyond('Beyond: formats', 'page: convert/formats', {
    async 'convert/formats lists the formats that are inputs or outputs'(session) {
      for (const sublist of ['inputs', 'outputs']) {
        const formats = await formatsOf(session, { sublist });
        ensure(Array.isArray(formats) && formats.length > 0, `formats of ${sublist} is ${show(formats)}`);
      }
    },
    async 'convert/formats with a format lists only what converts with it'(session) {
      const everything = await formatsOf(session, { sublist: 'outputs' });
      const few = await formatsOf(session, { sublist: 'outputs', format: sampleInput });
      ensure(Array.isArray(few) && Array.isArray(everything), `formats is ${show(few)}`);
      ensure(few.length > 0 && few.length < everything.length, `${few.length} of ${everything.length} formats`);
    },
    async 'convert/formats requires sublist, and takes inputs and outputs only'(session) {
      const list = (parameters: object) => ask(session, endpoints.convertFormats, parameters);
      ensureError(await list({}), ['MISSING_REQUIRED_PARAMETER'], 'convert/formats without sublist');
      ensureError(await list({ sublist: 'all' }), ['WRONG_VALUE_PARAMETER', 'INVALID_PARAMETER'], 'the sublist all');
      ensureError(await list({ sublist: 5 }), ['WRONG_TYPE_PARAMETER'], 'the sublist 5');
    },
    ...wrongFormats(endpoints.convertFormats, { sublist: 'outputs' }),
    ...from('page: format/get', wrongFormats(endpoints.formatGet, {})),
    async 'A format is named by its extension, or by extension-type'(session) {
      const formats = await formatsOf(session, { sublist: 'inputs' });
      for (const format of Array.isArray(formats) ? formats : []) {
        const [extension, type] = [valueAt(format, 'extension'), valueAt(format, 'type')];
        const name = typeof type === 'string' ? `${String(extension)}-${type}` : extension;
        ensureEqual(valueAt(format, 'format'), name, 'format');
      }
    },
    ...from('page: format/get', {
      async 'format/get describes a format: format, extension, type, name, title, categories'(session) {
        const output = (await ask(session, endpoints.formatGet, { format: 'png' })).at('result.output');
        ensure(isObject(output), `output is ${show(output)}`);
        for (const key of ['format', 'extension']) ensureEqual(output[key], 'png', key);
        for (const key of ['name', 'title']) ensureMatches(output[key], /./, key);
        ensure(output['name'] !== 'png', 'name is the short name, not the full one');
        ensure(output['type'] === null || typeof output['type'] === 'string', `type is ${show(output['type'])}`);
        ensure(Array.isArray(output['categories']), `categories is ${show(output['categories'])}`);
      },
    }),
    ...from('page: convert/graph', {
      async 'convert/graph tells with is_match whether a pair converts, and with is_reversable whether it does back'(
        session,
      ) {
        const good = await ask(session, endpoints.convertGraph, { input: sampleInput, output: sampleOutput });
        ensureEqual(good.at('result.output.is_match'), true, 'is_match of a pair that converts');
        const reversable = good.at('result.output.is_reversable');
        ensure(typeof reversable === 'boolean', `is_reversable is ${show(reversable)}`);
      },
    }),
    ...from('inferred: convert/graph', {
      async 'convert/graph answers is_match false, and no error, for known formats without a converter'(session) {
        const bad = await ask(session, endpoints.convertGraph, { input: sampleInput, output: 'docx' });
        ensureEqual(bad.at('result.error'), {}, 'the error');
        ensureEqual(bad.at('result.output.is_match'), false, 'is_match of a pair that does not convert');
      },
    }),
    ...from('page: convert/graph', {
      'convert/graph answers at HTTP 200 which of the formats is wrong': (session) =>
        ensureFormatErrors(session, endpoints.convertGraph, [
          ['INVALID_INPUT_FORMAT', { input: 'nosuchformat', output: sampleOutput }],
          ['INVALID_OUTPUT_FORMAT', { input: sampleInput, output: 'nosuchformat' }],
          ['WRONG_INPUT_FORMAT_STRUCTURE', { input: 'p.n.g', output: sampleOutput }],
          ['WRONG_OUTPUT_FORMAT_STRUCTURE', { input: sampleInput, output: 'p.d.f' }],
        ]),
    }),
    ...from('page: convert/status', {
      async 'convert/status is waiting, pending, successful or failed'(session) {
        const seen: unknown[] = [];
        for (const { connector } of [await session.converted(), await session.failed()]) {
          const reply = await session.post(endpoints.convertStatus, { connector });
          seen.push(reply.at('result.output.status'));
        }
        ensureEqual(seen, ['successful', 'failed'], 'the status of a conversion that succeeded and of one that failed');
      },
    }),
  }),
];
