import { hash, randomBytes } from 'node:crypto';
import type { EndpointClass } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { FormatCatalog } from '../engines/formats';
import type { ServiceDatabase } from '../shared/database';
import { TaskError } from '../shared/task-error';

export const plans = ['free', 'premium'] as const;
export type Plan = (typeof plans)[number];

type RateLimits = Readonly<Record<EndpointClass, number>> & { readonly windowSeconds: number };

/** Far above what one machine reaches, so that only operators who ask for limits meet them. */
const defaultRateLimits: RateLimits = {
  windowSeconds: 60,
  upload: 100_000,
  submit: 1_000_000,
  poll: 1_000_000,
  download: 1_000_000,
  info: 1_000_000,
};

/** The App ID of the free app, the only one that is not a UUID. */
export const freeAppId = 'free';

/** How long files are kept. A job may park for days while it waits for credits, and then it uploads again. */
export const fileLifetimeSeconds = 24 * 60 * 60;

/** An app with all its settings; `docs/service/accounts.md` explains each. */
export type Account = Readonly<ReturnType<typeof createAccount>> & {
  /** For the free app only: conversions per day (UTC), and the task paths that answer DISABLED_FOR_FREE_APP. */
  readonly freeApp?: { readonly dailyConversions: number; readonly disabledEndpoints: ReadonlySet<string> };
};

/** An app that may use the service, as an operator describes it; the defaults allow everything. */
export interface ServiceApp {
  name: string;
  appId: string;
  /** SHA-256 of the app token, in hex; several while a token is being replaced. The service stores nothing else of a token. */
  tokenSha256: string | readonly string[];
  plan?: Plan | undefined;
  /** Initial balance; from then on the database holds it. Default: unlimited. */
  vcredits?: number | undefined;
  prices?: Readonly<Record<string, number>> | undefined;
  /** SHA-256 of the files that may be used. Default: the app is not in development. */
  registeredHashes?: readonly string[] | undefined;
  callbackDomains?: readonly string[] | undefined;
  /** Callback hosts that may have private addresses. */
  privateCallbackHosts?: readonly string[] | undefined;
  /** Default: the service's own limit. */
  maxUploadBytes?: number | undefined;
  /** Default: every extension that an engine reads. */
  allowedExtensions?: readonly string[] | undefined;
  uploadLifetimeSeconds?: number | undefined;
  downloadLifetimeSeconds?: number | undefined;
  rateLimits?: Partial<RateLimits> | undefined;
}

export function createAccount({ name, appId, tokenSha256, ...options }: ServiceApp) {
  return {
    name,
    appId,
    tokenSha256: [tokenSha256].flat().map((hash) => hash.toLowerCase()),
    tokenDigests: [tokenSha256].flat().map((hash) => digestOf(hash, name)),
    plan: options.plan ?? 'premium',
    initialVcredits: options.vcredits,
    prices: createPriceList(options.prices),
    registeredHashes: options.registeredHashes && lowerCaseSet(options.registeredHashes),
    callbackDomains: options.callbackDomains ?? [],
    privateCallbackHosts: options.privateCallbackHosts ?? [],
    maxUploadBytes: options.maxUploadBytes,
    allowedExtensions: options.allowedExtensions && lowerCaseSet(options.allowedExtensions),
    uploadLifetimeMs: (options.uploadLifetimeSeconds ?? fileLifetimeSeconds) * 1000,
    downloadLifetimeMs: (options.downloadLifetimeSeconds ?? fileLifetimeSeconds) * 1000,
    rateLimits: { ...defaultRateLimits, ...options.rateLimits },
  };
}

/** In hex, so that no character has a meaning on a command line. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

function digestOf(sha256: string, name: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(sha256)) return Buffer.from(sha256, 'hex');
  throw new Error(`The tokenSha256 of app "${name}" must be 64 hexadecimal digits.`);
}

function lowerCaseSet(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.map((value) => value.toLowerCase()));
}

const balanceSchema = z.object({
  /** Null: unlimited. */
  vcredits: z.number().nullable(),
  /** Held for conversions in progress; part of `vcredits` until they end. */
  reserved: z.number(),
});

type Balance = Readonly<z.infer<typeof balanceSchema>>;

/**
 * The vCredits of the apps. Admission reserves, completion charges or releases the reservation; each is part of the transaction that
 * writes the task, so that no crash can come between the two. An app without a limit consumes nothing.
 */
export class CreditLedger {
  readonly #statements;

  constructor(db: ServiceDatabase) {
    this.#statements = {
      find: db.prepare('SELECT vcredits, reserved FROM balances WHERE app = ?'),
      seed: db.prepare('INSERT INTO balances (app, vcredits) VALUES (?, ?) ON CONFLICT DO NOTHING'),
      set: db.prepare(
        'INSERT INTO balances (app, vcredits) VALUES (?, ?) ON CONFLICT DO UPDATE SET vcredits = excluded.vcredits',
      ),
      add: db.prepare('UPDATE balances SET vcredits = vcredits + ? WHERE app = ?'),
      reserve: db.prepare('UPDATE balances SET reserved = reserved + ? WHERE app = ?'),
      settle: db.prepare('UPDATE balances SET vcredits = vcredits - ?, reserved = reserved - ? WHERE app = ?'),
    };
  }

  balanceOf(app: string): Balance {
    return balanceSchema.optional().parse(this.#statements.find.get(app)) ?? { vcredits: null, reserved: 0 };
  }

  /** Gives new apps their initial balance. */
  seed(accounts: readonly Pick<Account, 'appId' | 'initialVcredits'>[]): void {
    for (const { appId, initialVcredits } of accounts) {
      if (initialVcredits !== undefined) this.#statements.seed.run(appId, initialVcredits);
    }
  }

  /** Null: unlimited. Reservations stay. */
  set(app: string, vcredits: number | null): Balance {
    this.#statements.set.run(app, vcredits);
    return this.balanceOf(app);
  }

  /** No-op for an app without a limit. */
  add(app: string, vcredits: number): Balance {
    this.#statements.add.run(vcredits, app);
    return this.balanceOf(app);
  }

  /** Reserves the price of a conversion, and returns what to charge for it. Must run in a transaction. */
  reserve(app: string, price: number): number {
    const { vcredits, reserved } = this.balanceOf(app);
    // 0, not absent: known clients take a conversion without the field for a failed one.
    if (vcredits === null) return 0;
    if (vcredits - reserved < price) throw new TaskError('INSUFFICIENT_VCREDITS');
    if (price > 0) this.#statements.reserve.run(price, app);
    return price;
  }

  /** Charges or releases a reservation. Must run in a transaction. */
  settle(app: string, reserved: number, charge: boolean): void {
    if (reserved > 0) this.#statements.settle.run(charge ? reserved : 0, reserved, app);
  }
}

/** vCredits of a conversion by format pair; the first match of `docx to pdf`, `docx to *`, `* to pdf` and `*` applies. */
type PriceList = ReadonlyMap<string, number>;

/** All format names that a request may use, because prices do not depend on what is installed. */
const catalog = new FormatCatalog({ isHere: () => true });

/** @throws Error that names a key that is not a pair of formats. */
export function createPriceList(prices: Readonly<Record<string, number>> = { '*': 1 }): PriceList {
  return new Map(Object.entries(prices).map(([pair, vcredits]) => [normalizePair(pair), vcredits]));
}

/** What a conversion costs; 0 when no pair of the list applies. */
export function priceOf(prices: PriceList, input: string, output: string): number {
  const keys = [`${input} to ${output}`, `${input} to *`, `* to ${output}`, '*'];
  return keys.map((key) => prices.get(key)).find((price) => price !== undefined) ?? 0;
}

function normalizePair(pair: string): string {
  if (pair === '*' || pair === '* to *') return '*';
  const [input = '', output = '', ...rest] = pair.split(' to ');
  if (output === '' || rest.length > 0) {
    throw new Error(`"${pair}" is no pair of formats: write "docx to pdf", "docx to *", "* to pdf" or "*"`);
  }
  return `${normalizeFormat(input)} to ${normalizeFormat(output)}`;
}

function normalizeFormat(name: string): string {
  if (name === '*') return name;
  const row = catalog.find(name);
  if (!row) throw new Error(`there is no format "${name}"; see: fileconv formats`);
  return row.name;
}
