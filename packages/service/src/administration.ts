import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Account } from './accounts/account';
import { Accounts } from './accounts/accounts';
import { addApp, type NewToken, rotateToken } from './accounts/edit-accounts-file';
import { ensureEmbeddedApp } from './accounts/embedded-app';
import { type Balance, seedBalances } from './accounts/vcredits';
import { openDatabase, type ServiceDatabase } from './shared/database';
import type { CallbackDelivery } from './tasks/callback-store';
import { TaskStore } from './tasks/task-store';

/**
 * What an operator does with a data folder, whether or not a service runs on it: SQLite lets both write, and the service notices
 * changed accounts.
 */
export interface ServiceAdministration {
  readonly accountsFile: string;
  listApps(): readonly (Account & { balance: Balance })[];
  /** An app by its name or App ID. */
  findApp(app: string): Account | undefined;
  addApp(app: { name: string; plan: Account['plan']; vcredits: number | undefined }): Promise<NewToken>;
  rotateToken(app: { name: string; revoke: boolean }): Promise<NewToken & { validTokens: number }>;
  balanceOf(appId: string): Balance;
  /** Null: unlimited. */
  setCredits(appId: string, vcredits: number | null): Balance;
  addCredits(appId: string, vcredits: number): Balance;
  listTasks(filter: TaskFilter): TaskRow[];
  findTask(id: string): TaskDetails | undefined;
  /** Of a task that is completed and has a callback. */
  findCallback(task: string): CallbackDelivery | undefined;
  close(): void;
}

export interface TaskFilter {
  appId?: string | undefined;
  status?: string | undefined;
  limit: number;
}

const taskRowSchema = z.object({
  id: z.string(),
  app: z.string(),
  endpoint: z.string(),
  status: z.string(),
  errorCode: z.string().nullable(),
  inputFormat: z.string().nullable(),
  outputFormat: z.string().nullable(),
  fileName: z.string().nullable(),
  vcredits: z.number().nullable(),
  createdAt: z.number(),
  completedAt: z.number().nullable(),
});
export type TaskRow = z.infer<typeof taskRowSchema>;
type TaskDetails = NonNullable<ReturnType<TaskStore['findAnywhere']>>;

const rowColumns = `id, app, endpoint, status, error_code AS errorCode, input_format AS inputFormat,
  output_format AS outputFormat, file_name AS fileName, vcredits, created_at AS createdAt, completed_at AS completedAt`;

/** @throws AccountsFileError for a bad accounts file. */
export async function openAdministration(options: {
  dataDir: string;
  accountsFile?: string | undefined;
}): Promise<ServiceAdministration> {
  const dataDir = path.resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const accountsFile = options.accountsFile ?? path.join(dataDir, 'accounts.toml');
  const { app: embedded } = await ensureEmbeddedApp(dataDir);
  const accounts = await Accounts.open({
    apps: [embedded],
    file: accountsFile,
    // The first app that is added makes the file.
    required: false,
    log: () => undefined,
  });
  const db = openDatabase(path.join(dataDir, 'service.db'));
  const store = new TaskStore(db);
  const { ledger } = store;
  seedBalances(ledger, accounts.all);
  return {
    accountsFile,
    listApps: () => accounts.all.map((account) => ({ ...account, balance: ledger.balanceOf(account.appId) })),
    findApp: (app) => accounts.all.find(({ name, appId }) => name === app || appId === app.toLowerCase()),
    addApp: (app) => addApp(accountsFile, app),
    rotateToken: (app) => rotateToken(accountsFile, app),
    balanceOf: (appId) => ledger.balanceOf(appId),
    setCredits(appId, vcredits) {
      ledger.set(appId, vcredits);
      return ledger.balanceOf(appId);
    },
    addCredits(appId, vcredits) {
      ledger.add(appId, vcredits);
      return ledger.balanceOf(appId);
    },
    listTasks: (filter) => listTasks(db, filter),
    findTask: (id) => store.findAnywhere(id),
    findCallback: (task) => store.callbacks.find(task),
    close: () => store.close(),
  };
}

/** The newest first. */
function listTasks(db: ServiceDatabase, { appId, status, limit }: TaskFilter): TaskRow[] {
  const rows = db
    .prepare(
      `SELECT ${rowColumns} FROM tasks WHERE (?1 IS NULL OR app = ?1) AND (?2 IS NULL OR status = ?2)
       ORDER BY created_at DESC, rowid DESC LIMIT ?3`,
    )
    .all(appId ?? null, status ?? null, limit);
  return z.array(taskRowSchema).parse(rows);
}
