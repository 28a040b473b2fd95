export interface PartFinding {
  /** For example `Temporal` or `service of app billing`. */
  part: string;
  status: 'ok' | 'warning' | 'broken' | 'skipped';
  says: string;
  cure?: string;
}

export function ok(part: string, says: string): PartFinding {
  return { part, status: 'ok', says };
}

export function broken(part: string, says: string, cure: string): PartFinding {
  return { part, status: 'broken', says, cure };
}

/** By an error whose first sentence tells the problem, and the others what to do. */
export function brokenBy(part: string, error: unknown, otherCure: string): PartFinding {
  const [, says = reasonOf(error), cure = otherCure] = /^(.+?)\. (.+)$/.exec(reasonOf(error)) ?? [];
  return broken(part, says, cure);
}

export function skipped(part: string, says: string): PartFinding {
  return { part, status: 'skipped', says };
}

export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? '';
}
