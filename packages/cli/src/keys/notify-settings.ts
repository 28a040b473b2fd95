import { defined, isNoticeSecret, noticeSecretProblem, noticeTypes } from 'temporal-file-conversion/job';
import type { NotifySettings } from 'temporal-file-conversion/worker';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { readConfiguredSecret } from './encryption-settings';

const makeOne = 'make one: echo "whsec_$(openssl rand -base64 32)", readable by you only';

/** Whom a worker tells of what. @throws CommandError when the secret can't be read or used. */
export async function notifySettings(context: CommandContext): Promise<NotifySettings> {
  const { url, secretEnv: variable, secretFile: file, events, allowedHosts } = context.config.values.notify;
  const what = 'The secret of notices';
  const found = await readConfiguredSecret(context, { what, at: 'notify.secret', variable, file, cure: makeOne });
  const secret = found?.text.trim();
  if (found && !isNoticeSecret(secret ?? '')) {
    throw new CommandError('INPUT_UNUSABLE', [`${what}: ${found.place} ${noticeSecretProblem}`]);
  }
  return { ...defined({ url, secret }), events: noticeTypes.filter((type) => events.includes(type)), allowedHosts };
}
