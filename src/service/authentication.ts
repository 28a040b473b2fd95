import { createHash, timingSafeEqual } from 'node:crypto';
import { TaskError } from './task-error';

/** An app that may use the service. The service knows the hash of its token only. */
export interface ServiceApp {
  name: string;
  appId: string;
  /** SHA-256 of the app token, in hex. */
  tokenSha256: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Finds the app of a request (section "Authentication"). */
export class Authenticator {
  readonly #apps: { app: ServiceApp; digest: Buffer }[];

  constructor(apps: readonly ServiceApp[]) {
    this.#apps = apps.map((app) => {
      if (!/^[0-9a-f]{64}$/i.test(app.tokenSha256)) {
        throw new Error(`The tokenSha256 of app "${app.name}" must be 64 hexadecimal digits.`);
      }
      return { app, digest: Buffer.from(app.tokenSha256, 'hex') };
    });
  }

  /** The app whose token the Authorization header carries. */
  authenticate(header: string | undefined): ServiceApp {
    if (header === undefined || header === '') throw new TaskError('MISSING_AUTHORIZATION_HEADER');
    const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
    if (token === undefined) throw new TaskError('INVALID_AUTHORIZATION_HEADER');
    const digest = createHash('sha256').update(token).digest();
    let found: ServiceApp | undefined;
    // Every app is compared, so that the time taken tells nothing about which one matched.
    for (const candidate of this.#apps) if (timingSafeEqual(candidate.digest, digest)) found = candidate.app;
    if (!found) throw new TaskError('INVALID_CREDENTIAL');
    return found;
  }
}

/** Throws unless the data key `app` names the app that the token belongs to. */
export function requireSameApp(app: ServiceApp, appId: string): void {
  if (appId === app.appId) return;
  if (!uuid.test(appId)) throw new TaskError('INVALID_DATA_KEY', { subject: 'app' });
  throw new TaskError('INVALID_CREDENTIAL');
}
