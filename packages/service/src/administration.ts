import path from 'node:path';
import { z } from 'zod';
import { Accounts } from './accounts/accounts';
import { addApp } from './accounts/accounts-file';
import { ensureEmbeddedApp } from './accounts/embedded-app';
import { columnNames, openDatabase } from './shared/database';
import { taskSchema, TaskStore } from './tasks/task-store';

export { ensureEmbeddedApp };
export { SettingsFileError } from './shared/checked-toml';
export { tryLockFile } from './shared/database';
export { formatTime } from './tasks/answer';

const taskRowSchema = taskSchema.pick({
  id: true,
  app: true,
  endpoint: true,
  status: true,
  errorCode: true,
  inputFormat: true,
  outputFormat: true,
  fileName: true,
  vcredits: true,
  createdAt: true,
  completedAt: true,
});
export type TaskRow = z.infer<typeof taskRowSchema>;

export type ServiceAdministration = Awaited<ReturnType<typeof openAdministration>>;

/**
 * An operator's access to a data folder, whether or not a service runs on it: SQLite lets both write, and the service notices changed
 * accounts. @throws SettingsFileError for a bad accounts file.
 */
export async function openAdministration(options: { dataDir: string; accountsFile?: string | undefined }) {
  const dataDir = path.resolve(options.dataDir);
  const accountsFile = options.accountsFile ?? path.join(dataDir, 'accounts.toml');
  const { app: embedded } = await ensureEmbeddedApp(dataDir);
  // The first app that is added creates the file.
  const accounts = await Accounts.open({ apps: [embedded], file: accountsFile, required: false, log: () => undefined });
  const db = openDatabase(path.join(dataDir, 'service.db'));
  const store = new TaskStore(db);
  const { ledger } = store;
  ledger.seed(accounts.all);
  return {
    accountsFile,
    listApps: () => accounts.all.map((account) => ({ ...account, balance: ledger.balanceOf(account.appId) })),
    /** An app by its name or App ID. */
    findApp: (app: string) => accounts.all.find(({ name, appId }) => name === app || appId === app.toLowerCase()),
    addApp: (app: Parameters<typeof addApp>[1]) => addApp(accountsFile, app),
    balanceOf: (appId: string) => ledger.balanceOf(appId),
    /** Null: unlimited. */
    setCredits: (appId: string, vcredits: number | null) => ledger.set(appId, vcredits),
    addCredits: (appId: string, vcredits: number) => ledger.add(appId, vcredits),
    /** Newest first. */
    listTasks: ({ appId, status, limit }: { appId?: string | undefined; status?: string | undefined; limit: number }) =>
      z.array(taskRowSchema).parse(
        db
          .prepare(
            `SELECT ${columnNames(taskRowSchema)} FROM tasks WHERE (?1 IS NULL OR app = ?1) AND (?2 IS NULL OR status = ?2)
             ORDER BY created_at DESC, rowid DESC LIMIT ?3`,
          )
          .all(appId ?? null, status ?? null, limit),
      ),
    close: () => store.close(),
  };
}
