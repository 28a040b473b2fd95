import type { Account } from '../accounts/account';
import { TaskError } from '../task-error';

/** Section "Authentication", 5: callback URLs must have a domain verified for the app. */
export function requireVerifiedCallback(
  callback: string | undefined,
  { callbackDomains }: Pick<Account, 'callbackDomains'>,
): void {
  if (callback === undefined) return;
  const url = URL.canParse(callback) ? new URL(callback) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new TaskError('INVALID_CALLBACK');
  if (!matchesDomain(url.hostname, callbackDomains)) throw new TaskError('UNVERIFIED_DOMAIN_CALLBACK');
  // A password in a URL ends up in logs, here and at the receiver.
  if (url.username !== '' || url.password !== '') throw new TaskError('INVALID_CALLBACK');
}

export function isVerifiedCallback(callback: string | undefined, account: Pick<Account, 'callbackDomains'>): boolean {
  try {
    requireVerifiedCallback(callback, account);
    return true;
  } catch {
    return false;
  }
}

/** `example.com` stands for itself alone, `*.example.com` for every name below it. */
export function matchesDomain(hostname: string, domains: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return domains.some((domain) => (domain.startsWith('*.') ? host.endsWith(domain.slice(1)) : host === domain));
}
