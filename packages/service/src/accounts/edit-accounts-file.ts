import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { readIfExists, replaceFile } from 'temporal-file-conversion/internal/storage/replace-file';
import { checkToml, SettingsFileError } from '../shared/checked-toml';
import { tryLockFile } from '../shared/database';
import { hashToken, type Plan } from './account';
import { fileSchema, parseAccountsFile } from './accounts-file';
import { embeddedAppName } from './embedded-app';

/**
 * Changes an accounts file without losing its comments and layout. A running service sees the old file or the new one, never
 * half of it.
 */

/** Longer than several edits at once need on a busy machine. */
const lockTimeoutMs = 30_000;

/** Tokens of an app that stay valid when it gets a new one: only the one being replaced. */
const keptTokens = 1;

export interface NewToken {
  readonly appId: string;
  /** Shown once; the file holds only its hash. */
  readonly token: string;
}

/** Adds an app. @throws SettingsFileError when there is one of this name. */
export async function addApp(
  file: string,
  { name, plan, vcredits }: { name: string; plan: Plan; vcredits: number | undefined },
): Promise<NewToken> {
  const token = createToken();
  const appId = randomUUID();
  await edit(file, (text) => {
    const { apps } = parseAccountsFile(text, file);
    if (name === embeddedAppName || apps.some((app) => app.name === name)) {
      throw new SettingsFileError(`There is an app "${name}" already; see: fileconv service apps list`);
    }
    const lines = [
      `[apps.${name}]`,
      `app_id = "${appId}"`,
      `token_sha256 = ["${hashToken(token)}"]`,
      `plan = "${plan}"`,
      ...(vcredits === undefined ? [] : [`vcredits = ${vcredits}`]),
    ];
    return `${text.trimEnd()}${text.trim() === '' ? '' : '\n\n'}${lines.join('\n')}\n`;
  });
  return { appId, token };
}

/** Gives an app a new token. The last one before it stays valid until the next rotation, unless `revoke`. */
export async function rotateToken(
  file: string,
  { name, revoke }: { name: string; revoke: boolean },
): Promise<NewToken & { validTokens: number }> {
  if (name === embeddedAppName) {
    throw new SettingsFileError(
      `The token of "${name}" stands in embedded-app.token; replace it there, and start the service again`,
    );
  }
  const token = createToken();
  let appId = '';
  let validTokens = 1;
  await edit(file, (text) => {
    const app = parseAccountsFile(text, file).apps.find((each) => each.name === name);
    if (!app) throw new SettingsFileError(`There is no app "${name}" in ${file}; see: fileconv service apps list`);
    const hashes = [...(revoke ? [] : [app.tokenSha256].flat().slice(-keptTokens)), hashToken(token)];
    validTokens = hashes.length;
    appId = app.appId;
    return replaceHashes(text, { name, hashes, file });
  });
  return { appId, token, validTokens };
}

function createToken(): string {
  return randomBytes(32).toString('base64url');
}

function replaceHashes(
  text: string,
  { name, hashes, file }: { name: string; hashes: readonly string[]; file: string },
): string {
  const lines = text.split('\n');
  const header = new RegExp(`^\\s*\\[\\s*apps\\s*\\.\\s*"?${name}"?\\s*\\]`);
  const start = lines.findIndex((line) => header.test(line)) + 1;
  const length = lines.slice(start).findIndex((line) => /^\s*\[\s*["\w]+\s*[.\]]/.test(line));
  const end = start === 0 ? 0 : length === -1 ? lines.length : start + length;
  const list = `[${hashes.map((hash) => `"${hash}"`).join(', ')}]`;
  const table = lines
    .slice(start, end)
    .join('\n')
    .replace(/^(\s*token_sha256\s*=\s*)(\[[^\]]*\]|"[^"]*"|'[^']*')/m, (_match, key: string) => key + list);
  const edited = [...lines.slice(0, start), table, ...lines.slice(end)].join('\n');
  // Whatever the layout of the file, nothing but these hashes may have changed.
  const wanted = checkToml(text, { file, schema: fileSchema });
  Object.assign(wanted.apps[name] ?? {}, { token_sha256: hashes });
  if (isDeepStrictEqual(checkToml(edited, { file, schema: fileSchema }), wanted)) return edited;
  throw new SettingsFileError(
    `${file}: apps.${name}.token_sha256 cannot be replaced where it stands; write it on a line of its own under [apps.${name}]`,
  );
}

/** One edit at a time; the result is checked before it replaces the file, whole or not at all. */
async function edit(file: string, change: (text: string) => string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const unlock = await lock(`${file}.lock`);
  try {
    const edited = change((await readIfExists(file)) ?? '');
    parseAccountsFile(edited, file);
    await replaceFile(file, edited, { mode: 0o600 });
  } finally {
    unlock();
  }
}

async function lock(file: string): Promise<() => void> {
  const end = Date.now() + lockTimeoutMs;
  for (;;) {
    const unlock = tryLockFile(file);
    if (unlock) return unlock;
    if (Date.now() > end) throw new SettingsFileError(`Another command is changing the accounts (${file}); try again.`);
    await sleep(20);
  }
}
