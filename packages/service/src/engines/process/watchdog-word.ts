import { z } from 'zod';

/** The report of the watchdog before it kills a conversion process, and its file descriptor. */

export const watchdogChannel = 4;

export const watchdogWordSchema = z.object({ exceeded: z.enum(['memory', 'disk']), bytes: z.number() });
export type WatchdogWord = z.infer<typeof watchdogWordSchema>;
