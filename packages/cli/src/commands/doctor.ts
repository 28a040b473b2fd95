import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';
import { checkCallbacks, checkDisk, checkEngines, checkService, broken, type PartFinding } from '../doctor/checks';
import { checkTemporal } from '../doctor/check-temporal';
import { temporalTarget } from '../config/temporal-connection';
import { isEmbedded, requireKnown } from '../service/profiles';
import { readLiveStack } from '../stack/stack-record';

export async function doctor(context: CommandContext, flags: { app?: string }): Promise<ExitCode> {
  const { output, config } = context;
  const { apps, defaultApp } = config.values;
  if (flags.app !== undefined) requireKnown(context, flags.app);
  const asked = flags.app === undefined ? [...new Set([defaultApp, ...Object.keys(apps)])] : [flags.app];
  const findings: PartFinding[] = [
    ...(await checkTemporal(context)),
    ...(await checkKnown(context, asked)),
    ...(await Promise.all(asked.map((app) => checkService(context, app)))),
    await checkCallbacks(context),
    ...(asked.some((app) => isEmbedded(context, app)) ? await checkEngines(context) : []),
    ...(await checkDisk(context)),
  ];
  const isOk = findings.every(({ status }) => status !== 'broken');
  output.result({ ok: isOk, findings }, findings.map((finding) => describe(context, finding)).join('\n'));
  return isOk ? exitCodes.ok : exitCodes.failed;
}

/** Whether the worker of this machine's stack knows the apps: it reads its configuration only at its start. */
async function checkKnown(context: CommandContext, asked: readonly string[]): Promise<PartFinding[]> {
  if (temporalTarget(context).isNamed) return [];
  const { apps } = (await readLiveStack(context.config.values.state.dir)) ?? {};
  const unknown = apps ? asked.filter((app) => !apps.includes(app)) : [];
  const fix = 'Start it again: fileconv down, then fileconv up. The jobs then continue by themselves.';
  return unknown.map((app) =>
    broken(`app ${app} at the worker`, 'the stack was started before the app was configured; jobs of it wait', fix),
  );
}

function describe({ output }: CommandContext, { part, status, says, fix }: PartFinding): string {
  const { green, yellow, red, dim } = output.colors;
  const color = { ok: green, warning: yellow, broken: red, skipped: dim }[status];
  const line = `${color(status.padEnd(7))}  ${part}: ${printable(says)}`;
  return fix === undefined ? line : `${line}\n         ${printable(fix)}`;
}
