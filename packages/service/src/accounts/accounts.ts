import { hash, timingSafeEqual } from 'node:crypto';
import type { Log } from 'temporal-file-conversion/messages';
import { messageOf } from '../shared/caught';
import { readSettingsFile, SettingsFileError } from '../shared/checked-toml';
import { TaskError } from '../shared/task-error';
import { fingerprint, WatchedFile } from '../shared/watched-file';
import { type Account, createAccount, freeAppId, hashToken, type ServiceApp } from './account';
import { type AccountsFile, parseAccountsFile } from './accounts-file';
import { embeddedAppName, embeddedCallbackHosts } from './embedded-app';

/** The token of public clients without an account (beyond the document). */
const freeToken = 'FREE-TOKEN';

interface AccountsOptions {
  /** Apps that are not in the file. */
  apps: readonly ServiceApp[];
  file: string;
  /** The file was named explicitly, so it must exist. */
  required: boolean;
  log: Log;
}

type State = Awaited<ReturnType<typeof load>>;

/** The apps of the service. The accounts file may change while the service runs. */
export class Accounts {
  readonly file: WatchedFile;
  #onChange: (accounts: readonly Account[]) => void = () => undefined;

  private constructor(
    private readonly options: AccountsOptions,
    private state: State,
    seen: string,
  ) {
    this.file = new WatchedFile(options.file, seen, ({ wasThere }) => this.#read(options.required || wasThere));
  }

  /** @throws SettingsFileError with one line that names the key. */
  static async open(options: AccountsOptions): Promise<Accounts> {
    const seen = await fingerprint(options.file);
    return new Accounts(options, await load(options, options.required), seen);
  }

  /** Every app that may use the service now. */
  get all(): readonly Account[] {
    return this.state.accounts;
  }

  get anonymous(): AccountsFile['anonymous'] {
    return this.state.file.anonymous;
  }

  get extraApiVersions(): readonly string[] {
    return this.state.file.extraApiVersions;
  }

  find(appId: string): Account | undefined {
    return this.all.find((account) => account.appId === appId);
  }

  /** The app whose token the Authorization header carries (section "Authentication"), or the error. */
  authenticate(header: string | undefined): Account | TaskError {
    if (header === undefined || header === '') return new TaskError('MISSING_AUTHORIZATION_HEADER');
    const token = /^Bearer (.+)$/.exec(header)?.[1];
    if (token === undefined) return new TaskError('INVALID_AUTHORIZATION_HEADER');
    const digest = hash('sha256', token, 'buffer');
    let found: Account | undefined;
    // Every token is compared, so that the time taken does not reveal which one matched.
    for (const account of this.all) {
      for (const each of account.tokenDigests) if (timingSafeEqual(each, digest)) found = account;
    }
    return found ?? new TaskError('INVALID_CREDENTIAL');
  }

  /** Calls the listener with the current accounts, and whenever they change. */
  use(listener: (accounts: readonly Account[]) => void): void {
    this.#onChange = listener;
    listener(this.all);
  }

  async #read(required: boolean): Promise<boolean> {
    const { log } = this.options;
    try {
      const state = await load(this.options, required);
      const versions = state.file.extraApiVersions.join() === this.extraApiVersions.join();
      this.#onChange(state.accounts);
      this.state = state;
      log(
        `accounts reloaded: ${state.accounts.length} app(s)${versions ? '' : '; extra_api_versions waits for the next start'}`,
      );
      return true;
    } catch (error) {
      log(`the accounts stay as they were: ${messageOf(error)}`, { level: 'warn' });
      return false;
    }
  }
}

async function load(options: AccountsOptions, required: boolean) {
  const text = await readSettingsFile(options.file, { kind: 'accounts', required });
  const file = parseAccountsFile(text, options.file);
  const embedded = {
    ...file.embedded,
    callbackDomains: file.embedded.callbackDomains ?? embeddedCallbackHosts,
    privateCallbackHosts: file.embedded.privateCallbackHosts ?? embeddedCallbackHosts,
  };
  const given = options.apps.map((app) => (app.name === embeddedAppName ? { ...app, ...embedded } : app));
  const accounts: Account[] = [...given, ...file.apps].map(createAccount);
  if (file.freeApp) {
    const free = createAccount({ name: freeAppId, appId: freeAppId, tokenSha256: hashToken(freeToken) });
    accounts.push({ ...free, freeApp: file.freeApp });
  }
  requireUnique(accounts, options.file);
  return { accounts, file };
}

function requireUnique(accounts: readonly Account[], file: string): void {
  const holders = new Map<string, string>();
  for (const { name, appId, tokenSha256 } of accounts) {
    const hashes = tokenSha256.map((hash) => ['token_sha256', hash] as const);
    for (const [key, id] of [['name', name], ['app_id', appId], ...hashes] as const) {
      const holder = holders.get(`${key} ${id}`);
      if (holder !== undefined) {
        throw new SettingsFileError(`${file}: apps.${name}.${key}: stands under apps.${holder} too; it must be unique`);
      }
      holders.set(`${key} ${id}`, name);
    }
  }
}
