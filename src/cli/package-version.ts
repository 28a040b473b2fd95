import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

export function packageVersion(): string {
  const file = path.resolve(__dirname, '../../package.json');
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}
