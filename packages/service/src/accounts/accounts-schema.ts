import { endpoints } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { documentVersion, taskPathOf } from '../api-version';
import { messageOf } from '../caught';
import { plans } from './account';
import { createPriceList } from './prices';

/** The keys of an accounts file; each message completes `apps.NAME.key: `. */

const count = z.int('must be a whole number, 0 or more').min(0, 'must be 0 or more');
const positive = z.int('must be a whole number, 1 or more').min(1, 'must be 1 or more');
const seconds = z.number('must be a number of seconds').positive('must be more than 0');
const sha256 = z.string().regex(/^[0-9a-f]{64}$/i, 'must be a SHA-256 in 64 hexadecimal digits');
const hashes = z.array(sha256);
const domain = z
  .string()
  .toLowerCase()
  .regex(
    /^((\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/,
    'must be a domain such as "example.com", without scheme or port',
  );
const extension = z.string().regex(/^[^.\s]+$/, 'must be an extension such as "docx", without a dot');

const prices = z.record(z.string(), count).superRefine((value, context) => {
  for (const pair of Object.keys(value)) {
    try {
      createPriceList({ [pair]: 0 });
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error), path: [pair] });
    }
  }
});

const rateLimits = z.strictObject({
  window_seconds: positive.optional(),
  upload: positive.optional(),
  submit: positive.optional(),
  poll: positive.optional(),
  download: positive.optional(),
  info: positive.optional(),
});

export const appSchema = z.strictObject({
  app_id: z.guid('must be a UUID').optional(),
  token_sha256: z.union([sha256.transform((hash) => [hash]), hashes.min(1, 'must hold at least one hash')]).optional(),
  plan: z.enum(plans, `must be ${plans.map((plan) => `"${plan}"`).join(' or ')}`).optional(),
  vcredits: count.optional(),
  prices: prices.optional(),
  development: z.strictObject({ enabled: z.boolean().default(true), sha256: hashes.default([]) }).optional(),
  callback_domains: z.array(domain).optional(),
  private_callback_hosts: z.array(domain).optional(),
  limits: z
    .strictObject({
      max_upload_bytes: positive.optional(),
      allowed_extensions: z.array(extension).optional(),
      upload_lifetime_seconds: seconds.optional(),
      download_lifetime_seconds: seconds.optional(),
    })
    .prefault({}),
  rate_limits: rateLimits.prefault({}),
});

const taskPaths = Object.values(endpoints).map(taskPathOf);

export const fileSchema = z.strictObject({
  /** For every app that does not say otherwise. */
  rate_limits: rateLimits.prefault({}),
  /** Requests without a valid token, by address. */
  anonymous: z.strictObject({ window_seconds: positive.default(60), requests: positive.default(100_000) }).prefault({}),
  free_app: z
    .strictObject({
      enabled: z.boolean().default(false),
      daily_conversions: count.default(10),
      disabled_endpoints: z.array(z.enum(taskPaths, `must be some of ${taskPaths.join(', ')}`)).default([]),
    })
    .prefault({}),
  /** Versions of the API beside v1, with the same endpoints: for rehearsing a change of version. */
  extra_api_versions: z
    .array(z.string().regex(/^v\d+$/, 'must be a version such as "v2"'))
    .refine(
      (versions) => !versions.includes(documentVersion),
      `must not hold "${documentVersion}": it is always served`,
    )
    .default([]),
  apps: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/i, 'must hold letters, digits, "-" and "_" only'), appSchema)
    .default({}),
});

export type AppValues = z.output<typeof appSchema>;
export type FileValues = z.output<typeof fileSchema>;
