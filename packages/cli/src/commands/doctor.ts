import { printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';
import { checkCallbacks } from '../doctor/check-callbacks';
import { checkDisk, checkEngines, checkObjectStore } from '../doctor/check-machine';
import { checkService } from '../doctor/check-service';
import { checkTemporal } from '../doctor/check-temporal';
import type { Finding } from '../doctor/finding';
import { isEmbedded } from '../service/app-profiles';

/** `fileconv doctor`: checks every part, and says how to fix what is broken. Exit code 1 when anything is. */
export async function doctor(context: CommandContext, flags: { app?: string }): Promise<ExitCode> {
  const { output, config } = context;
  const { apps, defaultApp } = config.values;
  const asked = flags.app === undefined ? [...new Set([defaultApp, ...Object.keys(apps)])] : [flags.app];
  const findings: Finding[] = [
    ...(await checkTemporal(context)),
    ...(await Promise.all(asked.map((app) => checkService(context, app)))).flat(),
    await checkCallbacks(context),
    ...(asked.some((app) => isEmbedded(context, app)) ? await checkEngines(context) : []),
    await checkDisk(context),
    ...(await checkObjectStore(context)),
  ];
  const isOk = findings.every(({ status }) => status !== 'broken');
  output.result({ ok: isOk, findings }, findings.map((finding) => describe(context, finding)).join('\n'));
  return isOk ? exitCodes.ok : exitCodes.failed;
}

function describe({ output }: CommandContext, { part, status, says, cure }: Finding): string {
  const { green, red, dim } = output.colors;
  const color = { ok: green, broken: red, skipped: dim }[status];
  const line = `${color(status.padEnd(7))}  ${part}: ${printable(says)}`;
  return cure === undefined ? line : `${line}\n         ${printable(cure)}`;
}
