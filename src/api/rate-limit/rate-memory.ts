import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { RateMemory } from './rate-gate';

const rememberedSchema = z.partialRecord(z.enum(['upload', 'submit', 'poll', 'download', 'info']), z.number());

/**
 * Keeps the end of each RETRY-AFTER in a small file, so that a worker that starts again still waits for the rest of it. Written on a 429 only.
 * Whatever is wrong with the file is no reason to stop working: then the service says once more how long to wait.
 */
export function createRateMemory(filePath: string, onProblem: (message: string) => void = () => undefined): RateMemory {
  return {
    load() {
      try {
        return rememberedSchema.parse(JSON.parse(readFileSync(filePath, 'utf8')));
      } catch {
        return {};
      }
    },
    save(blockedUntilMs) {
      const partial = `${filePath}.${process.pid}`;
      try {
        mkdirSync(path.dirname(filePath), { recursive: true });
        writeFileSync(partial, JSON.stringify(blockedUntilMs));
        renameSync(partial, filePath);
      } catch (error) {
        onProblem(`The end of a RETRY-AFTER could not be kept in ${filePath}: ${String(error)}`);
      }
    },
  };
}
