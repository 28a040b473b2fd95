import { closeSync, openSync } from 'node:fs';
import type Database from 'libsql';
import { z } from 'zod';
import { inspectError, messageOf } from './caught';

/** Must be raised with every change of the schema below. */
const schemaVersion = 2;

const schema = `
  CREATE TABLE tasks (
    id            TEXT PRIMARY KEY,
    app           TEXT NOT NULL,
    endpoint      TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('hold', 'running', 'completed')),
    -- The data field as sent, and the result object; both are JSON text that goes out as it is.
    payload       TEXT NOT NULL,
    result        TEXT,
    error_code    TEXT,
    -- The task whose file this one works on.
    connector     TEXT,
    input_format  TEXT,
    output_format TEXT,
    -- The file that this task gives to the next one; the hash is that of the uploaded file that the job began with.
    file_name     TEXT,
    file_size     INTEGER,
    file_sha256   TEXT,
    expires_at    INTEGER,
    -- What the task was charged, and what it is charged when it succeeds; null when it consumes nothing.
    vcredits      INTEGER,
    reserved      INTEGER,
    callback      TEXT,
    -- How often an engine has begun; a conversion that keeps taking the service down is given up.
    attempts      INTEGER NOT NULL DEFAULT 0,
    -- How many attempts ended without a result, perhaps by the machine's fault; the next one then runs alone.
    tries         INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    completed_at  INTEGER
  ) STRICT;
  CREATE INDEX tasks_unfinished ON tasks (created_at) WHERE status <> 'completed';
  CREATE INDEX tasks_completed ON tasks (completed_at) WHERE status = 'completed';
  CREATE INDEX tasks_of_app ON tasks (app, created_at);
  -- The vCredits of an app; null: unlimited, as for an app without a row. 'reserved' is what its unfinished tasks hold.
  CREATE TABLE balances (
    app      TEXT PRIMARY KEY,
    vcredits INTEGER,
    reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0)
  ) STRICT;
  CREATE TABLE callbacks (
    task            TEXT PRIMARY KEY,
    app             TEXT NOT NULL,
    url             TEXT NOT NULL,
    -- With its port; what shares a host shares its slots.
    host            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- Why the last attempt delivered nothing.
    problem         TEXT,
    completed_at    INTEGER NOT NULL,
    next_attempt_at INTEGER,
    ended_at        INTEGER
  ) STRICT;
  CREATE INDEX callbacks_pending ON callbacks (next_attempt_at) WHERE state = 'pending';
  PRAGMA user_version = ${schemaVersion}`;

const maxBusyTries = 100;
const busyPauseMs = 50;

export type ServiceDatabase = InstanceType<typeof Database>;

/** Loaded lazily, because most commands open no database. */
const libsql = () => require('libsql') as typeof Database;

/** Opens the database file, or creates it. */
export function openDatabase(file: string): ServiceDatabase {
  let db: ServiceDatabase | undefined;
  try {
    makeForOwner(file);
    db = new (libsql())(file, { timeout: 5_000 });
    useWriteAheadLog(db);
    // FULL: an accepted task survives a power cut too, at the price of one fsync a commit.
    db.pragma('synchronous = FULL');
    requireSchema(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw unusable(file, error);
  }
}

/** Owner-only, because it holds file names and callback URLs. An existing file is not opened: closing it would end SQLite's locks on it. */
function makeForOwner(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (inspectError(error).code !== 'EEXIST') throw error;
  }
}

/** The column of a key: `error_code` of `errorCode`. */
export function columnOf(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Column list of a SELECT whose rows have the keys of this schema. */
export function columnNames({ shape }: z.ZodObject): string {
  return Object.keys(shape)
    .map((key) => `${columnOf(key)} AS ${key}`)
    .join(', ');
}

/** SQLite's messages do not name the file. */
function unusable(file: string, error: unknown): Error {
  const reason = messageOf(error);
  return new Error(reason.startsWith(file) ? reason : `${file}: the database cannot be used: ${reason}`, {
    cause: error,
  });
}

/** Keeps the connections from being garbage-collected, which would release their locks. */
const heldLocks = new Set<ServiceDatabase>();

/**
 * Locks a file for this process until the returned function is called or the process dies, however it dies. Undefined if another process
 * has the lock.
 */
export function tryLockFile(lockFile: string): (() => void) | undefined {
  const db = new (libsql())(lockFile);
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (inspectError(error).code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
  heldLocks.add(db);
  return () => {
    if (heldLocks.delete(db)) db.close();
  };
}

/** Locks the data folder: two services on one folder would run each other's conversions again. */
export function lockDataDir(lockFile: string, dataDir: string): () => void {
  let unlock: (() => void) | undefined;
  try {
    unlock = tryLockFile(lockFile);
  } catch (error) {
    throw unusable(lockFile, error);
  }
  if (unlock) return unlock;
  throw new Error(`Another conversion service is using ${dataDir}; stop it, or choose another data folder.`);
}

/** Outside a transaction SQLite does not wait for others that open the new file, so this retries. */
function useWriteAheadLog(db: ServiceDatabase): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; ; tries += 1) {
    try {
      db.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (tries >= maxBusyTries) throw error;
      Atomics.wait(cell, 0, 0, busyPauseMs);
    }
  }
}

/** Several processes may open a new file at once: one creates the tables, and the others find them. */
function requireSchema(db: ServiceDatabase, file: string): void {
  if (versionOf(db) === schemaVersion) return;
  const create = db.transaction(() => {
    const version = versionOf(db);
    if (version === 0) db.exec(schema);
    else if (version !== schemaVersion) {
      throw new Error(
        `${file} was written by another version of this package (schema ${version}, not ${schemaVersion}); use that version, or name a new data folder.`,
      );
    }
  });
  create.immediate();
}

function versionOf(db: ServiceDatabase): number {
  return z.object({ user_version: z.number() }).parse(db.prepare('PRAGMA user_version').get()).user_version;
}
