import { z } from 'zod';
import { FormatCatalog, formatName } from '../engines/formats';
import type { ServiceDatabase } from '../shared/database';
import { TaskError } from '../shared/task-error';

const balanceSchema = z.object({
  /** Null: unlimited. */
  vcredits: z.number().nullable(),
  /** Held for conversions in progress; part of `vcredits` until they end. */
  reserved: z.number(),
});

type Balance = Readonly<z.infer<typeof balanceSchema>>;

/**
 * The vCredits of the apps. Admission reserves, completion charges what was reserved or releases it; each is part of the
 * transaction that writes the task, so that no crash can come between the two. An app without a limit consumes nothing.
 */
export class Ledger {
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

  /** Gives an app its first balance, unless it has one. */
  seed(app: string, vcredits: number): void {
    this.#statements.seed.run(app, vcredits);
  }

  /** Null makes it unlimited. What is reserved stays reserved. */
  set(app: string, vcredits: number | null): void {
    this.#statements.set.run(app, vcredits);
  }

  /** Changes nothing for an app without a limit. */
  add(app: string, vcredits: number): void {
    this.#statements.add.run(vcredits, app);
  }

  /** Holds the price of a conversion, and returns what to charge for it. In a transaction. */
  reserve(app: string, price: number): number {
    const { vcredits, reserved } = this.balanceOf(app);
    // 0, not left out: known clients take a conversion without the field for a failed one.
    if (vcredits === null) return 0;
    if (vcredits - reserved < price) throw new TaskError('INSUFFICIENT_VCREDITS');
    if (price > 0) this.#statements.reserve.run(price, app);
    return price;
  }

  /** Charges a reservation or releases it. In a transaction. */
  settle(app: string, reserved: number, charge: boolean): void {
    if (reserved > 0) this.#statements.settle.run(charge ? reserved : 0, reserved, app);
  }
}

/** Gives new apps their first balance. */
export function seedBalances(
  ledger: Ledger,
  accounts: readonly { readonly appId: string; readonly initialVcredits: number | undefined }[],
): void {
  for (const { appId, initialVcredits } of accounts) {
    if (initialVcredits !== undefined) ledger.seed(appId, initialVcredits);
  }
}

/** vCredits of one conversion by format pair: `docx to pdf`, `docx to *`, `* to pdf` or `*`; the first that applies, in this order. */
export type PriceList = ReadonlyMap<string, number>;

const defaultPrices: Readonly<Record<string, number>> = { '*': 1 };

/** Every name that a request may use for a format: prices do not depend on what is installed. */
const catalog = new FormatCatalog({ isHere: () => true });

/** @throws Error with the key that is not a pair of formats. */
export function createPriceList(prices: Readonly<Record<string, number>> = defaultPrices): PriceList {
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
  return formatName(row);
}
