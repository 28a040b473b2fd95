// How every play with processes that are killed begins, tells and ends.
import { secondsSince } from './batch-ledger.mjs';

/** What a command prints, and how it ends. */
export async function ending(child) {
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (printed.stdout += chunk));
  child.stderr.on('data', (chunk) => (printed.stderr += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, ...printed };
}

/** Plays, stops what `place` started, prints what was found and ends the process: with 1 if there are problems. Then the files are kept. */
export async function playOn(place, options, play) {
  const startedAt = Date.now();
  const giveUp = async () => {
    await place.end();
    place.remove();
    process.exit(130);
  };
  process.once('SIGINT', giveUp);
  process.once('SIGTERM', giveUp);
  const summary = { ...options, problems: [] };
  try {
    await place.start();
    Object.assign(summary, await play());
    const left = await place.stop();
    if (left.length > 0) summary.problems.push(`after Ctrl-C these are left: ${left.join(', ')}`);
  } catch (error) {
    summary.problems.push(String(error.stack ?? error));
  }
  await place.end();
  for (const problem of summary.problems.slice(0, 50)) console.log(`  ${problem}`);
  const failed = summary.problems.length > 0;
  if (failed) console.log(`State, logs and outputs are kept in ${place.folder}`);
  else place.remove();
  console.log(JSON.stringify({ ...summary, totalSeconds: secondsSince(startedAt) }));
  process.exit(failed ? 1 : 0);
}
