import { credentialsProblem, withoutSecrets } from '../../job/types';
import { systemErrorCode } from '../../messages/system-error';
import { StorageError, cannotRead, type StorageErrorCode } from '../errors';

/** @throws StorageError for a URL that is not allowed, whatever its host. */
export function assertReadable(url: URL, plainHttp: boolean): void {
  const { protocol, username, password } = url;
  if (protocol !== 'https:' && !(plainHttp && protocol === 'http:')) {
    throw refused(url, 'UNSUPPORTED_URI', `it leads to a ${protocol} address; only https: is read.`);
  }
  if (username !== '' || password !== '') {
    throw refused(url, 'UNSUPPORTED_URI', `it ${credentialsProblem}`);
  }
}

export function refused(url: URL, code: StorageErrorCode, why: string): StorageError {
  return cannotRead(withoutSecrets(String(url)), {
    code,
    why,
    retryable: code === 'STORAGE_FAILED' || code === 'SOURCE_CHANGED',
  });
}

/** For a status that is neither success nor a redirect. */
export function statusFailure(url: URL, status: number): StorageError {
  if (status === 412) return changed(url);
  if (status === 404 || status === 410) return refused(url, 'SOURCE_NOT_FOUND', `the server answers ${status}.`);
  if (status === 401 || status === 403) {
    const why = `the server answers ${status}: this worker may not read it, or the signature of the URL has expired. Get a new URL.`;
    return refused(url, 'SOURCE_UNREADABLE', why);
  }
  const mayPass = status >= 500 || status === 408 || status === 429;
  return refused(url, mayPass ? 'STORAGE_FAILED' : 'SOURCE_UNREADABLE', `the server answers ${status}.`);
}

export function changed(url: URL): StorageError {
  return refused(url, 'SOURCE_CHANGED', 'the file changed while it was in use.');
}

/** For an error before or during a response. */
export function connectionFailure(url: URL, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = systemErrorCode(error) ?? '';
  if (code === 'ENOTFOUND') return refused(url, 'SOURCE_NOT_FOUND', `there is no host ${url.hostname}.`);
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)) {
    return refused(url, 'SOURCE_UNREADABLE', `the certificate of ${url.hostname} is not trusted (${code}).`);
  }
  const reason =
    code === 'UND_ERR_BODY_TIMEOUT' ? 'no more bytes arrive' : error instanceof Error ? error.message : code;
  return refused(url, 'STORAGE_FAILED', `${[...new Set([code, reason])].filter(Boolean).join(': ')}.`);
}
