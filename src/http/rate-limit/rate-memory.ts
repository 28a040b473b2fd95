import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { endpointClasses } from '../../contract/endpoints';
import type { RateMemory } from './rate-gate';

/** `untilMs` is wall-clock time, which may be adjusted; `restMs`, what was left at the time of writing, is not. */
const waitSchema = z.object({ untilMs: z.number(), restMs: z.number() });
const rememberedSchema = z.partialRecord(z.enum(endpointClasses), waitSchema);

/**
 * Keeps the end of each RETRY-AFTER in a small file, so that a restarted worker waits for the rest of it, and never
 * longer than the service asked, even if the clock was set meanwhile. Written only on a 429. A broken file stops
 * nothing: the service then answers with the wait again.
 */
export function createRateMemory(filePath: string, now: () => number = () => Date.now()): RateMemory {
  return {
    load() {
      try {
        const waits = rememberedSchema.parse(JSON.parse(readFileSync(filePath, 'utf8')));
        const rests = Object.entries(waits).map(
          ([name, { untilMs, restMs }]) => [name, Math.min(untilMs - now(), restMs)] as const,
        );
        return Object.fromEntries(rests.filter(([, restMs]) => restMs > 0));
      } catch {
        return {};
      }
    },
    save(rests) {
      const partial = `${filePath}.${process.pid}`;
      const waits = Object.entries(rests).map(([name, restMs]) => [name, { untilMs: now() + restMs, restMs }]);
      try {
        mkdirSync(path.dirname(filePath), { recursive: true });
        writeFileSync(partial, JSON.stringify(Object.fromEntries(waits)));
        renameSync(partial, filePath);
      } catch {
        // Best effort: the service repeats a wait that was not kept.
      }
    },
  };
}
