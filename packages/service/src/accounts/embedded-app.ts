import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { makeFolder, readOrCreateFile, replaceFile } from 'temporal-file-conversion/storage';
import { z } from 'zod';
import { messageOf } from '../shared/caught';
import { hashToken, newToken, type ServiceApp } from './account';

/** No other app may have this name. */
export const embeddedAppName = 'embedded';

/** Default callback hosts of that app: this machine, where anyone who has its token can reach everything anyway. */
export const embeddedCallbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

const appSchema = z.object({ name: z.string(), appId: z.guid(), tokenSha256: z.string().regex(/^[0-9a-f]{64}$/) });

/**
 * The app under which this machine uses its own service, created once in `dataDir`. Concurrent processes get the same app. `tokenFile`
 * holds its token, and only its owner can read it.
 */
export async function ensureEmbeddedApp(
  dataDir: string,
): Promise<{ app: ServiceApp; appId: string; tokenFile: string }> {
  const folder = path.resolve(dataDir);
  await makeFolder(folder, 0o700);
  const tokenFile = path.join(folder, 'embedded-app.token');
  const appFile = path.join(folder, 'embedded-app.json');
  const token = (await readOrCreateFile(tokenFile, () => `${newToken()}\n`)).trim();
  if (token === '') {
    throw new Error(`${tokenFile}: is empty; write a token into it, or remove it and a new one is made`);
  }
  const tokenSha256 = hashToken(token);
  const created: ServiceApp = { name: embeddedAppName, appId: randomUUID(), tokenSha256 };
  const stored = parseApp(await readOrCreateFile(appFile, () => `${JSON.stringify(created, null, 2)}\n`), appFile);
  // Replacing the token keeps the app and its files.
  const app = { ...stored, tokenSha256 };
  if (stored.tokenSha256 !== tokenSha256)
    await replaceFile(appFile, `${JSON.stringify(app, null, 2)}\n`, { mode: 0o600 });
  return { app, appId: app.appId, tokenFile };
}

function parseApp(text: string, file: string): z.infer<typeof appSchema> {
  let problem: string;
  try {
    const parsed = appSchema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
    problem = `${parsed.error.issues[0]?.path.join('.') ?? ''} is missing or wrong`;
  } catch (error) {
    problem = `not valid JSON: ${messageOf(error)}`;
  }
  throw new Error(`${file}: ${problem}; restore it, or remove it and the service begins with a new app`);
}
