import type { z } from 'zod';

/** Where each problem is and what it is: `policies.check: Invalid option: …; app: …`. Holds no value. */
export function problemsOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ');
}
