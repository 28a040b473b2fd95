// Fails when the lock file would let npm take a package unchecked: without a hash, or from elsewhere than the registry. `npm run lint`
// runs it. npm leaves the hash out of packages for other platforms than that on which it wrote the file.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const file = path.resolve(import.meta.dirname, '../package-lock.json');
const { packages } = JSON.parse(readFileSync(file, 'utf8'));
const installed = Object.entries(packages).filter(([name, { link }]) => name.includes('node_modules/') && !link);
const unchecked = installed
  .filter(([, { integrity, resolved }]) => !/^sha512-/.test(integrity ?? '') || resolved !== undefined)
  .map(([name, { version }]) => `${name.split('node_modules/').at(-1)}@${version}`);
if (unchecked.length > 0) {
  console.error(`package-lock.json: no hash of ${unchecked.join(', ')}, or another source than the registry.`);
  console.error('Add what this prints as "integrity": npm view NAME@VERSION dist.integrity');
  process.exitCode = 1;
}
