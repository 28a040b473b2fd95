import { z } from 'zod';

/** What the watchdog of a conversion process says before it kills it, and on which descriptor. */

export const watchdogChannel = 4;

export const watchdogWordSchema = z.object({ exceeded: z.enum(['memory', 'disk']), bytes: z.number() });
export type WatchdogWord = z.infer<typeof watchdogWordSchema>;
