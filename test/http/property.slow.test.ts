import fc from 'fast-check';
import { z } from 'zod';
import { endpoints } from '../../src/contract/endpoints';
import { errorCodes } from '../../src/contract/error-codes';
import type { ConversionApi, DownloadTicket, TaskSnapshot } from '../../src/http/conversion-api';
import { ConversionApiError } from '../../src/http/errors';
import { garbage, wireAnswers, type WireAnswer } from './arbitrary-answers';
import { closeAll, connectTo, readAll, serveTcp } from './loopback';

/** Whatever a server sends, a call ends in time with a typed result or a typed error. */

afterEach(closeAll);

/** Short, since a timeout must end in a typed error too. */
const timeouts = { connectMs: 2_000, headersMs: 40, bodyMs: 40, stallMs: 40 };
/** `PROPERTY_RUNS=2000` searches longer. */
const runs = Number(process.env['PROPERTY_RUNS'] ?? 25);

/** Far above every timeout, so that only a hang reaches it. */
const hangMs = 30_000;

type UploadReceipt = Awaited<ReturnType<ConversionApi['uploadFile']>>;

/** The results as `conversion-api.ts` documents them, key by key. Strict, so that no other part of the answer gets through. */
const texts = z.record(z.string(), z.string());
const results = {
  upload: z.strictObject({
    connector: z.string().min(1),
    warnings: texts,
  } satisfies Record<keyof UploadReceipt, z.ZodType>),
  snapshot: z.strictObject({
    taskId: z.string().optional(),
    status: z.string(),
    connector: z.string().optional(),
    isWithoutResult: z.literal(true).optional(),
    outputStatus: z.string().optional(),
    error: z.strictObject({ code: z.string().min(1), message: z.string() }).optional(),
    warnings: texts,
    vcredits: z.number().nonnegative().optional(),
    durationSeconds: z.number().nonnegative().optional(),
    payload: z.unknown().optional(),
  } satisfies Record<keyof TaskSnapshot, z.ZodType>),
  ticket: z.strictObject({
    connector: z.string().min(1),
    size: z.number().nonnegative().optional(),
    url: z.string().optional(),
    warnings: texts.optional(),
  } satisfies Record<keyof DownloadTicket, z.ZodType>),
  formats: z.array(z.looseObject({ format: z.string() })),
  format: z.looseObject({ format: z.string() }),
};

const calls: Record<string, { run: (api: ConversionApi) => Promise<unknown>; result: z.ZodType }> = {
  uploadFile: {
    run: (api) => api.uploadFile({ file: { name: 'a.txt', size: 1, open: oneByte } }),
    result: results.upload,
  },
  convertFile: { run: (api) => api.convertFile({ connector: 'c', output: 'pdf' }), result: results.snapshot },
  taskResponse: { run: (api) => api.taskResponse({ connector: 'c' }), result: results.snapshot },
  downloadUrl: { run: (api) => api.downloadUrl({ connector: 'c' }), result: results.ticket },
  download: {
    run: async (api) => readAll((await api.download({ ticket: { connector: 'c' } })).body),
    result: z.instanceof(Buffer),
  },
  formats: { run: (api) => api.formats({ sublist: 'inputs' }), result: results.formats },
  format: { run: (api) => api.format({ format: 'pdf' }), result: results.format },
  canConvert: { run: (api) => api.canConvert({ input: 'md', output: 'pdf' }), result: z.boolean() },
};

async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from('x'));
}

/** A server that answers every request with the latest argument of `play`. */
async function startPlayer(): Promise<{ baseUrl: string; play: (next: Pick<WireAnswer, 'bytes' | 'ending'>) => void }> {
  let current: Pick<WireAnswer, 'bytes' | 'ending'> = { bytes: Buffer.alloc(0), ending: 'end' };
  const baseUrl = await serveTcp((socket) => {
    socket.once('data', () => {
      const { bytes, ending } = current;
      if (ending === 'end') socket.end(bytes);
      else socket.write(bytes, () => (ending === 'reset' ? socket.resetAndDestroy() : undefined));
    });
  });
  return { baseUrl, play: (next) => (current = next) };
}

/** The typed error, or undefined for a typed result. Anything else fails the test. */
async function outcomeOf(api: ConversionApi, name: string): Promise<ConversionApiError | undefined> {
  const call = calls[name];
  if (!call) throw new Error(`no call ${name}`);
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} hangs`)), hangMs);
  });
  try {
    call.result.parse(await Promise.race([call.run(api), hang]));
    return undefined;
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    expect(Object.values(endpoints)).toContain(error.endpoint);
    expect(error.code).not.toBe('');
    expect(error.message).toContain(error.endpoint);
    expect(typeof error.mayHaveExecuted).toBe('boolean');
    if (error.retryAfterSeconds !== undefined) expect(Number.isInteger(error.retryAfterSeconds)).toBe(true);
    return error;
  } finally {
    clearTimeout(timer);
  }
}

/** Uses a new client: an old one might still be waiting for an earlier RETRY-AFTER. */
async function outcomeOfNew(baseUrl: string, name: string): Promise<ConversionApiError | undefined> {
  const api = connectTo(baseUrl, timeouts);
  try {
    return await outcomeOf(api, name);
  } finally {
    await api.close();
  }
}

const proofs = Object.entries(errorCodes)
  .filter(([, row]) => row.provesNothingRan)
  .map(([code]) => code);

/** Whether an answer may prove that nothing ran: by a listed code, a completed task, or any error below 500. */
function maySettle({ status, body }: WireAnswer): boolean {
  const text = body.toString('utf8');
  if (status < 200 || status === 429 || text.includes('completed')) return true;
  return proofs.some((code) => text.includes(code)) || (status < 500 && /"(error|code)"/.test(text));
}

describe.each(Object.keys(calls))('%s', (name) => {
  it('ends with a typed result or a typed error, whatever the answer and wherever it is cut', async () => {
    const { baseUrl, play } = await startPlayer();
    await fc.assert(
      fc.asyncProperty(wireAnswers, async (answer) => {
        play(answer);
        const error = await outcomeOfNew(baseUrl, name);
        if (!error) return;
        if (answer.whole && answer.status >= 200 && error.httpStatus !== undefined) {
          expect(error.httpStatus).toBe(answer.status);
        }
        // A request that was sent may have been executed unless the answer rules it out. A redirected download may reach a closed port.
        if (name !== 'download' && !maySettle(answer)) expect(error.mayHaveExecuted).toBe(true);
      }),
      { numRuns: runs },
    );
  });

  it('turns bytes that are not HTTP into a typed error', async () => {
    const { baseUrl, play } = await startPlayer();
    await fc.assert(
      fc.asyncProperty(garbage, async (bytes) => {
        play({ bytes, ending: 'end' });
        const error = await outcomeOfNew(baseUrl, name);
        if (error) expect(error.httpStatus === undefined || Number.isInteger(error.httpStatus)).toBe(true);
      }),
      { numRuns: Math.ceil(runs / 2) },
    );
  });
});
