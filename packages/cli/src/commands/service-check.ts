import {
  type Capabilities,
  type Capability,
  findObstacle,
  type Outcome,
  runRules,
  type Target,
} from 'temporal-file-conversion-conformance';
import { printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { readAppToken, type SecretSource } from '../config/app-token';
import { isLoopback } from 'temporal-file-conversion/internal/network/addresses';
import { formatTable } from '../output/text';
import { readProfile } from '../service/app-profiles';
import { untilAskedToEnd } from '../stack/asked-to-end';

/** A domain that nobody can verify for an app. */
const unverifiedCallback = { url: 'https://callback.invalid/' };

/** `fileconv service check`: the conformance suite against any service. Exit code 0 only when no rule fails. */
export async function serviceCheck(context: CommandContext, flags: TargetFlags): Promise<ExitCode> {
  const { output } = context;
  const capabilities = { unverifiedCallback, ...(await namedCapabilities(context, flags.with ?? [])) };
  const target: Target = { ...(await chooseTarget(context, flags)), capabilities };
  await requireAnswer(target);
  const signal = untilAskedToEnd(context);
  let checked = 0;
  const outcomes = await runRules(target, {
    signal,
    onOutcome: ({ section, rule }) => {
      checked += 1;
      output.live([`${checked} rules checked; ${section}: ${rule}`]);
    },
  });
  const count = (status: Outcome['status']): number => outcomes.filter((outcome) => outcome.status === status).length;
  const totals = { passed: count('pass'), failed: count('fail'), skipped: count('skipped') };
  const rows = outcomes.map(({ status, source, restatedIn, rule, why = '' }) => [
    status,
    [source, ...restatedIn].join(', '),
    rule,
    printable(why),
  ]);
  output.result(
    { baseUrl: target.baseUrl, ...totals, rules: outcomes },
    formatTable(['RESULT', 'SOURCE', 'RULE', 'WHY'], rows),
  );
  const checkedRules = totals.passed + totals.failed;
  output.say(
    `${checkedRules} of ${outcomes.length} rules checked at ${target.baseUrl}: ${totals.passed} passed, ${totals.failed} failed.`,
  );
  for (const line of describeSkipped(outcomes)) output.say(line);
  if (signal.aborted) return exitCodes.interrupted;
  return totals.failed === 0 ? exitCodes.ok : exitCodes.failed;
}

/** What the skipped rules need, each with how many need it. */
function describeSkipped(outcomes: readonly Outcome[]): string[] {
  const reasons = outcomes.flatMap(({ status, why = '' }) => (status === 'skipped' ? [why] : []));
  const needs = reasons.filter((why) => why.startsWith('needs '));
  const names = [...new Set(needs)].map(
    (need) => `${need.slice('needs '.length)} (${needs.filter((each) => each === need).length})`,
  );
  const undecided = reasons.length - needs.length;
  return [
    ...(needs.length > 0 ? [`${needs.length} need ${names.join(', ')}. Name them with --with; see --help.`] : []),
    ...(undecided > 0 ? [`${undecided} could not be decided; the column WHY says why.`] : []),
  ];
}

/** What `--with` takes: accounts by their app profiles, some with a number that the service has been told too. */
const named = {
  'second-app': ['secondApp'],
  'free-plan-app': ['freePlanApp'],
  'no-credits-app': ['noCreditsApp'],
  'priced-app': ['pricedApp'],
  'rate-limited-app': ['rateLimitedApp', 'requests'],
  'short-uploads-app': ['shortUploadsApp', 'seconds'],
  'short-downloads-app': ['shortDownloadsApp', 'seconds'],
  'small-uploads-app': ['smallUploadsApp', 'maxBytes'],
} as const satisfies Record<string, readonly [capability: Capability, number?: string]>;

async function namedCapabilities(context: CommandContext, given: readonly string[]): Promise<Partial<Capabilities>> {
  const found: Record<string, unknown> = {};
  for (const text of given) {
    const [, need = '', profile = '', number] = /^([\w-]+)=([^:]+)(?::(\d+(?:\.\d+)?))?$/.exec(text) ?? [];
    if (need === 'other-version' && /^v\d+$/.test(profile)) {
      found['otherVersion'] = { segment: profile };
      continue;
    }
    const [capability, key] = Object.hasOwn(named, need) ? named[need as keyof typeof named] : [];
    if (capability === undefined || (key === undefined) !== (number === undefined)) {
      throw usage(`--with ${text}: give one of ${withForms.join(', ')}.`);
    }
    const { appId, token } = await readProfile(context, profile);
    found[capability] = { appId, token, ...(key !== undefined && { [key]: Number(number) }) };
  }
  return found;
}

/** As a person types them. */
const withForms = [
  ...Object.entries(named).map(([need, [, key]]) => `${need}=PROFILE${key === undefined ? '' : ':NUMBER'}`),
  'other-version=v2',
];

async function requireAnswer(target: Target): Promise<void> {
  const obstacle = await findObstacle(target);
  if (!obstacle) return;
  if (obstacle.kind === 'account') {
    throw new CommandError('ACCOUNT_REFUSED', [
      `The service does not accept this App ID and token (${obstacle.why}). Check both.`,
    ]);
  }
  throw new CommandError('SERVICE_UNREACHABLE', [
    `There is no conversion service to check at ${target.baseUrl}: ${obstacle.why}`,
  ]);
}

export interface TargetFlags {
  baseUrl?: string;
  app?: string;
  tokenEnv?: string;
  tokenFile?: string;
  token?: string;
  allowPlainHttp?: boolean;
  with?: string[];
}

/**
 * What to check: a service by its URL with an app of its, or the service of an app profile.
 * @throws CommandError (2) for options that don't fit together, ConfigError for a token that can't be read.
 */
async function chooseTarget(context: CommandContext, flags: TargetFlags): Promise<Target> {
  const target = flags.baseUrl === undefined ? await profileTarget(context, flags) : await namedTarget(context, flags);
  const { protocol, hostname } = new URL(target.baseUrl);
  if (protocol === 'http:' && !isLoopback(hostname) && flags.allowPlainHttp !== true) {
    throw usage(
      `The token would travel to ${hostname} unencrypted. Use https, or say that it may with --allow-plain-http.`,
    );
  }
  return target;
}

async function namedTarget(context: CommandContext, flags: TargetFlags): Promise<Target> {
  const { baseUrl = '', app } = flags;
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(`--base-url must be an http or https URL: ${baseUrl}`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usage('--base-url must hold neither a user name nor a query.');
  }
  if (app === undefined) throw usage('With --base-url, --app must be the App ID to use there.');
  return { baseUrl: url.href.replace(/\/+$/, ''), appId: app, token: await readToken(context, flags) };
}

async function readToken({ env, output }: CommandContext, flags: TargetFlags): Promise<string> {
  const { tokenEnv, tokenFile, token } = flags;
  if ([tokenEnv, tokenFile, token].filter((given) => given !== undefined).length !== 1) {
    throw usage('Give the app token in one way: --token-env NAME, --token-file FILE, or --token TOKEN.');
  }
  if (token !== undefined) {
    output.warn('Every user of this machine can see --token in its process list; prefer --token-env or --token-file.');
  }
  const source: SecretSource =
    tokenFile === undefined
      ? { from: 'environment', variable: tokenEnv ?? '--token' }
      : { from: 'file', file: tokenFile };
  return readAppToken({ name: '--app', token: source }, { ...env, '--token': token }, (message) =>
    output.warn(message),
  );
}

async function profileTarget(context: CommandContext, flags: TargetFlags): Promise<Target> {
  if (flags.tokenEnv !== undefined || flags.tokenFile !== undefined || flags.token !== undefined) {
    throw usage('A token goes with --base-url; an app profile has its own.');
  }
  return readProfile(context, flags.app ?? context.config.values.defaultApp);
}

function usage(problem: string): CommandError {
  return new CommandError('USAGE', [problem]);
}
