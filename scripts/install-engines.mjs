// Installs the programs of the machine that the slow tests run, as far as they are missing and this machine allows it. It never
// fails: the tests of what is missing are skipped, and the end of their run names them.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { isHere, programs } = require('../packages/service/dist/engines/programs.js');

const { writer, calc, impress, math, ffmpeg, tesseract } = programs;
const wanted = [writer, calc, impress, math, ffmpeg, tesseract, { debian: 'bubblewrap', commands: ['bwrap'] }];
const missing = () => wanted.filter((program) => !isHere(program)).map(({ debian }) => debian);

const packages = missing();
const reason = packages.length === 0 ? undefined : install(packages);
const left = missing();
if (left.length === 0) console.log(`Here: ${wanted.map(({ debian }) => debian).join(' ')}`);
else console.log(`The tests of ${left.join(', ')} are skipped: ${reason ?? 'they are installed, but not found'}.`);

/** Why they could not be installed. */
function install(packages) {
  if (!answers('apt-get', '--version')) return 'there is no apt-get to install them with';
  const asRoot = process.getuid() === 0 ? [] : ['sudo', '-n'];
  if (!answers(...asRoot, 'true')) return 'only root, or a sudo that asks for no password, installs them';
  console.log(`Installing ${packages.join(' ')}`);
  // Only root ends what root has begun.
  const aptGet = [
    ...asRoot,
    ...'timeout --kill-after=10 300 env DEBIAN_FRONTEND=noninteractive apt-get -qq'.split(' '),
  ];
  const patience = ['-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20', '-o', 'DPkg::Lock::Timeout=60'];
  const update = run(...aptGet, ...patience, 'update');
  const { status, stderr } = run(...aptGet, ...patience, 'install', '--yes', '--no-install-recommends', ...packages);
  if (status === 0) return undefined;
  // Without a network the update only warns.
  return `apt-get: ${/^[EW]: .*/m.exec(update.stderr + stderr)?.[0] ?? 'not done after five minutes'}`;
}

function answers(...command) {
  return run(...command).status === 0;
}

function run(program, ...parameters) {
  return spawnSync(program, parameters, { encoding: 'utf8' });
}
