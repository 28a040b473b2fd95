import { z } from 'zod';
import type { Account } from './accounts/account';
import type { ServiceDatabase } from './database';
import { TaskError } from './task-error';

const balanceSchema = z.object({ vcredits: z.number().nullable(), reserved: z.number() });

export interface Balance {
  /** Null: unlimited. */
  readonly vcredits: number | null;
  /** Held for conversions under way; part of `vcredits` until they end. */
  readonly reserved: number;
}

const unlimited: Balance = { vcredits: null, reserved: 0 };

/**
 * The vCredits of the apps. Admission reserves, completion charges what was reserved or lets it go; each is part of the
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
    return balanceSchema.optional().parse(this.#statements.find.get(app)) ?? unlimited;
  }

  /** Gives an app its first balance; one that it has stays. */
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
    // Told as 0 and not left out: known clients take a conversion without the field for a failed one.
    if (vcredits === null) return 0;
    if (vcredits - reserved < price) throw new TaskError('INSUFFICIENT_VCREDITS');
    if (price > 0) this.#statements.reserve.run(price, app);
    return price;
  }

  /** Charges a reservation, or lets it go. In a transaction. */
  settle(app: string, reserved: number, charge: boolean): void {
    if (reserved > 0) this.#statements.settle.run(charge ? reserved : 0, reserved, app);
  }
}

/** Gives apps that are new their first balance. */
export function seedBalances(ledger: Ledger, accounts: readonly Account[]): void {
  for (const { appId, initialVcredits } of accounts) {
    if (initialVcredits !== undefined) ledger.seed(appId, initialVcredits);
  }
}
