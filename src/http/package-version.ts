import { readFileSync } from 'node:fs';
import path from 'node:path';

export function packageVersion(): string {
  const file = path.resolve(__dirname, '../../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
