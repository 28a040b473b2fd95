export interface Finding {
  /** For example `Temporal` or `service of app billing`. */
  part: string;
  status: 'ok' | 'warning' | 'broken' | 'skipped';
  says: string;
  cure?: string;
}

export function ok(part: string, says: string): Finding {
  return { part, status: 'ok', says };
}

export function broken(part: string, says: string, cure: string): Finding {
  return { part, status: 'broken', says, cure };
}

/** By an error whose first sentence tells the problem, and the others what to do. */
export function brokenBy(part: string, error: unknown, otherCure: string): Finding {
  const [, says = reasonOf(error), cure = otherCure] = /^(.+?)\. (.+)$/.exec(reasonOf(error)) ?? [];
  return broken(part, says, cure);
}

export function skipped(part: string, says: string): Finding {
  return { part, status: 'skipped', says };
}

export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? '';
}

const toleratedSkewMs = 30_000;

/** Compares this machine's clock with another's: waits and deadlines are points of time, so they must agree. */
export function compareClocks(part: string, { theirsMs, oursMs }: { theirsMs: number; oursMs: number }): Finding {
  const skewMs = oursMs - theirsMs;
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  if (Math.abs(skewMs) <= toleratedSkewMs) return ok(part, seconds <= 1 ? 'in step' : `${seconds} s apart`);
  return broken(
    part,
    `this machine's clock is ${seconds} s ${skewMs > 0 ? 'ahead' : 'behind'}`,
    'Let both set their clocks by NTP (timedatectl set-ntp true); deadlines and pauses are wrong until then.',
  );
}
