import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { charges, type EarlierRuns } from '../job/charge';
import {
  credentialsProblem,
  holdsCredentials,
  sourceName,
  type ConversionJobInput,
  type ConversionSource,
  type JobRequest,
} from '../job/types';
import { resultUri } from '../batch/uris';
import { isFormatName, parametersKey, problemOfParameters } from '../job/parameters';
import { problemOfDuration } from '../job/duration';
import { problemsOf } from '../messages/schema-problems';
import { conversionModes, onExistingChoices, policies } from '../job/policies';

export const nonEmptyText = z.string().min(1);
/** Temporal refuses an id that holds half a character, with an error after which a Nexus call is repeated until it times out. */
export const idText = nonEmptyText.regex(/^\P{Cs}*$/u, 'must be well-formed text');
/** A path or URI, visible to everyone who can see the workflow. */
export const fileName = nonEmptyText.refine((uri) => !holdsCredentials(uri), credentialsProblem);

export function formatLike(example: string) {
  return z.string().refine(isFormatName, `must be a format name such as ${example}`);
}

function valueWithout(problemOf: (value: unknown) => string | undefined) {
  return z.unknown().superRefine((value, context) => {
    const message = problemOf(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

export const durationSchema = valueWithout(problemOfDuration);

function policyValue(policy: (typeof policies)[keyof typeof policies]): z.ZodType {
  switch (policy.kind) {
    case 'duration':
      return durationSchema;
    case 'count':
      return z.int().nonnegative().max(policy.max);
    case 'choice':
      return z.enum(policy.choices);
  }
}

/** Options of every job, single or in a batch. */
export const jobOptions = {
  onExisting: z.enum(onExistingChoices).optional(),
  mode: z.enum(conversionModes).optional(),
  policies: z
    .strictObject(
      Object.fromEntries(Object.entries(policies).map(([name, policy]) => [name, policyValue(policy).optional()])),
    )
    .optional(),
};

const earlierRuns = z.strictObject({
  charge: z.enum(charges),
  taskId: nonEmptyText.exactOptional(),
  source: z.strictObject({ bytes: z.number(), sha256: z.string(), stamp: z.string().exactOptional() }).exactOptional(),
  possiblyChargedExtra: z.int().positive().exactOptional(),
}) satisfies z.ZodType<EarlierRuns>;

export const parametersSchema = valueWithout(problemOfParameters);

export const targetFormat = formatLike('pdf or txt-markdown');

const requestSchema = z.strictObject({
  ...jobOptions,
  app: nonEmptyText.optional(),
  source: z
    .union(
      [
        nonEmptyText,
        z.strictObject({ uri: nonEmptyText }),
        z.strictObject({ connector: nonEmptyText, name: nonEmptyText.optional() }),
      ],
      'must be a path, a URI, { uri } or { connector }',
    )
    .refine(
      (source) => !holdsCredentials(typeof source === 'string' ? source : 'uri' in source ? source.uri : ''),
      credentialsProblem,
    ),
  output: targetFormat,
  input: formatLike('docx').optional(),
  parameters: parametersSchema.optional(),
  destination: fileName.optional(),
  earlier: earlierRuns.optional(),
});

/** A program's request for a job: the workflow's input, with paths allowed in place of `file:` URIs. */
export interface ConversionRequest extends Omit<JobRequest, 'app' | 'source'> {
  /** Default: the client's app profile. */
  app?: string;
  /** A path or `file:` URI, or a value of `ConversionJobInput.source`. */
  source: string | ConversionSource;
}

/** An invalid request; the message names the field. */
export class InvalidRequestError extends Error {
  override readonly name = 'InvalidRequestError';
}

/** `what` begins the message. @throws InvalidRequestError */
export function checkRequest(schema: z.ZodType, request: unknown, what: string): void {
  const { error } = schema.safeParse(request);
  if (!error) return;
  throw new InvalidRequestError(`${what} ${problemsOf(error)}`);
}

/** Splits a request into the fields of a schema and the rest. */
export function splitRequest<Request extends object, Shape>(request: Request, { shape }: { shape: Shape & object }) {
  const isOwn = ([field]: [string, unknown]) => field in shape;
  const fields = Object.entries(request);
  return {
    own: Object.fromEntries(fields.filter(isOwn)) as Pick<Request, keyof Request & keyof Shape>,
    rest: Object.fromEntries(fields.filter((field) => !isOwn(field))) as Omit<Request, keyof Shape>,
  };
}

/**
 * Resolves paths on the client, since the worker has another working directory.
 * @throws InvalidRequestError
 */
export function toJobInput(request: ConversionRequest, defaultApp: string): ConversionJobInput {
  checkRequest(requestSchema, request, "This conversion can't be started.");
  const { app, source: from, parameters, destination, ...rest } = request;
  const source = typeof from === 'string' ? { uri: toUri(from) } : from;
  // In the order in which the Temporal UI should show them.
  return {
    app: app ?? defaultApp,
    source,
    ...rest,
    ...(parametersKey(parameters) !== '' && { parameters }),
    ...(destination !== undefined && {
      destination: resultUri({ source, output: request.output, destination: toUri(destination) }),
    }),
  };
}

/** A readable id: `convert/report.md-1f3a9c02`. Ids are never encrypted: `isHidden` leaves the name out. */
export function newWorkflowId(
  source: ConversionSource,
  { isHidden, suffix = randomBytes(isHidden ? 8 : 4).toString('hex') }: { isHidden: boolean; suffix?: string },
): string {
  if (isHidden) return `convert/${suffix}`;
  const name = sourceName(source)
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .slice(0, 80);
  return `convert/${name}-${suffix}`;
}

/** Converts a path to a URI. Keeps a trailing slash, which marks a folder. */
export function toUri(pathOrUri: string): string {
  if (/^[a-z][a-z0-9+.-]+:/i.test(pathOrUri) && !/^[a-z]:[\\/]/i.test(pathOrUri)) return pathOrUri;
  const uri = pathToFileURL(path.resolve(pathOrUri)).href;
  return /[\\/]$/.test(pathOrUri) && !uri.endsWith('/') ? `${uri}/` : uri;
}
