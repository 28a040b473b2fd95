import { hash, timingSafeEqual } from 'node:crypto';
import type { Account } from './accounts/account';
import { TaskError } from './task-error';

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Finds the app of a request (section "Authentication"). */
export class Authenticator {
  readonly #candidates: { account: Account; digest: Buffer }[];

  constructor(accounts: readonly Account[]) {
    this.#candidates = accounts.flatMap((account) =>
      account.tokenSha256.map((hash) => {
        if (!/^[0-9a-f]{64}$/.test(hash)) {
          throw new Error(`The tokenSha256 of app "${account.name}" must be 64 hexadecimal digits.`);
        }
        return { account, digest: Buffer.from(hash, 'hex') };
      }),
    );
  }

  /** The app whose token the Authorization header carries. */
  authenticate(header: string | undefined): Account {
    if (header === undefined || header === '') throw new TaskError('MISSING_AUTHORIZATION_HEADER');
    const token = /^Bearer (.+)$/.exec(header)?.[1];
    if (token === undefined) throw new TaskError('INVALID_AUTHORIZATION_HEADER');
    const digest = hash('sha256', token, 'buffer');
    let found: Account | undefined;
    // Every token is compared, so that the time taken tells nothing about which one matched.
    for (const candidate of this.#candidates) {
      if (timingSafeEqual(candidate.digest, digest)) found = candidate.account;
    }
    if (!found) throw new TaskError('INVALID_CREDENTIAL');
    return found;
  }
}

/** Throws unless the data key `app` names the app that the token belongs to. */
export function requireSameApp(account: Account, appId: string): void {
  if (appId.toLowerCase() !== account.appId.toLowerCase()) throw new TaskError('INVALID_CREDENTIAL');
}
