import { KeyObject } from 'node:crypto';
import type { DataConverter } from '@temporalio/common';
import { z } from 'zod';
import { CallbackKeyError, isBaseUrl, parseCallbackKeys } from './callbacks/callback-url';
import type { CallbackReceiver } from './callbacks/receiver';
import { isNoticeSecret, isNoticeUrl, noticeSecretProblem, noticeUrlProblem } from './batch/model/notices';
import type { CheckCommand } from './checks/check-command';
import type { ApiTimeouts } from './http/conversion-api';
import { noticeTypes } from './job/names';
import { problemsOf } from './messages/schema-problems';
import type { NotifySettings } from './notices/send-notice';
import type { StoresByScheme } from './storage/stores';

/** Address and credentials of an app profile's service. Jobs only name a profile, so none of this enters a workflow. */
export interface AppProfile {
  /** For example `https://api.vertopal.com`, without `/v1`. */
  baseUrl: string;
  appId: string;
  /**
   * The app token, or a function that provides it: called for the app's first job, and again after INVALID_CREDENTIAL. Default: the
   * content of `tokenFile`.
   */
  token?: string | (() => string | Promise<string>);
  /** File with the app token, reread when it changes. With a `token` function, a change calls the function again. */
  tokenFile?: string;
  /** Base URL of the receiver for this app's service, at a domain verified for the app. Default: `callbacks.publicBaseUrl`. */
  callbackBaseUrl?: string;
}

/** Callbacks from services to the receiver `fileconv callbacks`. */
export interface CallbackSettings {
  /** Signs the URLs; the receiver needs the same key: at least 32 characters. If the text has several keys, the first signs. */
  key: string | KeyObject;
  /**
   * Public URL of the receiver with any path prefix, such as `https://hooks.example.com/conversion`. Default: only apps
   * with a `callbackBaseUrl` request callbacks.
   */
  publicBaseUrl?: string;
  /** The receiver, if it runs in this process and no other receives the callbacks of its jobs: a quick conversion then needs no signal. */
  receiver?: Pick<CallbackReceiver, 'comes'>;
}

export interface FileConversionPluginOptions {
  apps: Readonly<Record<string, AppProfile>>;
  timeouts?: Partial<ApiTimeouts>;
  /** Default: no callbacks, jobs poll. */
  callbacks?: CallbackSettings;
  /** Stores of sources and results by URI scheme, in addition to `file:` and `https:`, or in their place. */
  stores?: StoresByScheme;
  /**
   * Workers on all hosts see the same files under the same paths. Default: false; the steps of a job that writes to a `file:` URI stay
   * on the host that uploaded. A custom store declares this by `isPerHost`.
   */
  sharedFiles?: boolean;
  /** Program that checks the results of jobs with policy `check: 'command'`. Default: such jobs fail before they upload. */
  checkCommand?: CheckCommand;
  /** Folder that preserves RETRY-AFTER times across restarts. Default: none; they are lost on restart. */
  stateDir?: string;
  /** For workers, clients and replays without a converter, for example `createEncryptedDataConverter(keys)`. Default: Temporal's. */
  dataConverter?: DataConverter;
  /**
   * Whether a worker without workflows runs the conversion workflows; `false` if other workers of its task queue do. Default: true for
   * a worker without activities.
   */
  workflows?: boolean;
  /**
   * Serves the Nexus service `conversion` to callers from other namespaces and in other languages, who may use these app profiles.
   * Needs the packages `@temporalio/nexus` and `nexus-rpc`. Default: not served.
   */
  nexus?: { apps: readonly string[] };
  /** Listener for notices, for example when a batch ends or needs a person. The secret never enters a workflow. Default: no notices. */
  notify?: NotifySettings;
}

const baseUrl = z.string().refine(isBaseUrl, 'must be an http or https URL without a password, "?" and "#"');
const word = z.string().regex(/^\s*[\x21-\x7e]+\s*$/, 'must be one word of ASCII');
const aFunction = z.custom((value) => typeof value === 'function', 'must be a function');
const anObject = z.custom((value) => Object(value) === value, 'must be an object');
const milliseconds = z.number().nonnegative().optional();

const secretKey = z.custom((value) => value instanceof KeyObject && value.type === 'secret');
const callbackKey = z.string().superRefine((text, context) => {
  try {
    parseCallbackKeys(text);
  } catch (error) {
    if (!(error instanceof CallbackKeyError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

const profile = z
  .strictObject({
    baseUrl,
    appId: word,
    token: z.union([word, aFunction], 'must be a text or a function').optional(),
    tokenFile: z.string().min(1).optional(),
    callbackBaseUrl: baseUrl.optional(),
  } satisfies Record<keyof AppProfile, z.ZodType>)
  .refine(({ token, tokenFile }) => token ?? tokenFile, 'needs token or tokenFile')
  .refine(({ token, tokenFile }) => typeof token !== 'string' || !tokenFile, 'has both token and tokenFile; keep one');

const shape = {
  apps: z.record(z.string(), profile),
  timeouts: z
    .strictObject({
      connectMs: milliseconds,
      headersMs: milliseconds,
      bodyMs: milliseconds,
      stallMs: milliseconds,
    } satisfies Record<keyof ApiTimeouts, z.ZodType>)
    .optional(),
  callbacks: z
    .strictObject({
      key: z.union([secretKey, callbackKey], 'must be a text or a secret KeyObject'),
      publicBaseUrl: baseUrl.optional(),
      receiver: anObject.optional(),
    } satisfies Record<keyof CallbackSettings, z.ZodType>)
    .optional(),
  stores: z.record(z.string(), anObject).optional(),
  sharedFiles: z.boolean().optional(),
  checkCommand: z
    .strictObject({
      argv: z.tuple([z.string().min(1)], z.string()),
      limitMs: z.number().positive().optional(),
    } satisfies Record<keyof CheckCommand, z.ZodType>)
    .optional(),
  stateDir: z.string().min(1).optional(),
  dataConverter: anObject.optional(),
  workflows: z.boolean().optional(),
  nexus: z.strictObject({ apps: z.array(z.string()) }).optional(),
  notify: z
    .strictObject({
      url: z.string().refine(isNoticeUrl, noticeUrlProblem).optional(),
      secret: z.string().refine(isNoticeSecret, noticeSecretProblem).optional(),
      events: z.array(z.enum(noticeTypes)).optional(),
      allowedHosts: z.array(z.string()).optional(),
      resolve: aFunction.optional(),
    } satisfies Record<keyof NotifySettings, z.ZodType>)
    .optional(),
} satisfies Record<keyof FileConversionPluginOptions, z.ZodType>;

/** Strict, for programs without a compiler: an unset environment variable, for example, must not make each job fail, or poll silently. */
const schema = z.strictObject(shape).superRefine(({ apps, callbacks, nexus }, context) => {
  for (const [app, { callbackBaseUrl }] of Object.entries(apps)) {
    if (callbackBaseUrl === undefined || callbacks) continue;
    const message = 'needs callbacks.key, which signs the callback URLs';
    context.addIssue({ code: 'custom', path: ['apps', app, 'callbackBaseUrl'], message });
  }
  const unknown = nexus?.apps.filter((app) => !Object.hasOwn(apps, app)) ?? [];
  if (unknown.length === 0) return;
  const message = `names ${unknown.join(', ')}, but apps has only: ${Object.keys(apps).join(', ')}`;
  context.addIssue({ code: 'custom', path: ['nexus', 'apps'], message });
});

/** @throws TypeError that names each problem, and no value */
export function checkPluginOptions(options: unknown): void {
  const { error } = schema.safeParse(options);
  if (error) throw new TypeError(`These options of FileConversionPlugin can't be used. ${problemsOf(error)}`);
}
