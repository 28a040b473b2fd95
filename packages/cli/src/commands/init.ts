import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import { allow } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainFolder } from '../command-error';
import { ConfigError } from '../config/errors';
import { loadConfig } from '../config/load-config';

/** Writes the `fileconv.toml` of an account and allows its values at once, because the user typed them. */
export async function init(
  context: CommandContext,
  { service, appId, app, tokenEnv }: { service: string; appId: string; app: string; tokenEnv: string },
): Promise<void> {
  const { cwd, output } = context;
  const file = path.join(cwd, 'fileconv.toml');
  // JSON strings are valid TOML strings.
  const [name, ...values] = [app, service, appId, tokenEnv].map((text) => JSON.stringify(text));
  const [url, id, variable] = values;
  await writeNew(
    file,
    `# All keys: docs/configuration.md. What is in force: fileconv config show
default_app = ${name}

[apps.${name}]
base_url = ${url}
app_id = ${id}
token_env = ${variable}
`,
  );
  try {
    await allow({ ...context, config: await loadConfig({ cwd, env: { ...context.env, FILECONV_CONFIG: '' } }) });
  } catch (error) {
    await rm(file);
    if (!(error instanceof ConfigError)) throw error;
    const options = { [`${file}: apps.${app}.base_url`]: '--service', [`${file}: apps.${app}.app_id`]: '--app-id' };
    const typed = (problem: string) =>
      Object.entries(options).reduce((text, [key, option]) => text.replace(key, option), problem);
    const [first, ...others] = error.problems;
    throw new CommandError('USAGE', [typed(first), ...others.map(typed)], { cause: error });
  }
  const next = `${context.env[tokenEnv] ? '' : `export ${tokenEnv}=YOUR_TOKEN, then: `}fileconv doctor`;
  output.result({ file, app }, `${file} is written. Next: ${next}`);
}

async function writeNew(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content, { flag: 'wx' });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') {
      // The beginning of one would be in the way of the next try.
      await rm(file, { force: true });
      throw explainFolder(error, { problem: `${file} cannot be written`, advice: 'Change to a folder of yours.' });
    }
    throw new CommandError('DESTINATION_UNUSABLE', [
      `${file} already exists and was not changed. Add the app to it by hand; for its current values: fileconv config show`,
    ]);
  }
}
