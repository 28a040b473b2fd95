import { mainApp, useConfigFolder } from './config-folder';

const { problemsOf } = useConfigFolder();

const noVariable =
  'must be the name of a variable, in capitals or in small letters; if this is the secret itself, take it out, and replace it if others could read it';
const noFile =
  'must be the path of a file; if this is the secret itself, take it out, and replace it if others could read it';

describe('the file', () => {
  const refused: [string, string, string][] = [
    [
      'an unknown key, with the one that was meant',
      '[worker]\ntask_quue = "x"',
      './fileconv.toml: unknown key worker.task_quue; did you mean "task_queue"?',
    ],
    [
      'an unknown key that is near no other, with all that there are',
      '[state]\nzebra = 1',
      './fileconv.toml: unknown key state.zebra; known: dir',
    ],
    ['an unknown section', '[wroker]\n', './fileconv.toml: unknown name wroker; did you mean "worker"?'],
    ['a section that is no table', 'worker = 3', './fileconv.toml: worker must be a table: [worker]'],
    ['apps that are no table', 'apps = 3', './fileconv.toml: apps must be a table: [apps.NAME]'],
    ['an app that is no table', '[apps]\nmain = 3', './fileconv.toml: apps.main must be a table: [apps.main]'],
    [
      'a text that is no number',
      '[service]\nport = "80a"',
      './fileconv.toml: service.port must be a whole number from 0 to 65535, not "80a"',
    ],
    [
      'a number that is out of range',
      '[service]\nport = 65536',
      './fileconv.toml: service.port must be a whole number from 0 to 65535, not 65536',
    ],
    [
      'a part of a number where only whole ones make sense',
      '[worker]\nmax_concurrent_activities = 1.5',
      './fileconv.toml: worker.max_concurrent_activities must be a whole number from 1 to 1000, not 1.5',
    ],
    [
      'a deployment name that Temporal could not tell from a build id',
      '[worker]\ndeployment_name = "invoices.eu"',
      './fileconv.toml: worker.deployment_name must be a text without dots and colons, not beginning with "__", not "invoices.eu"',
    ],
    [
      'a time-out of zero',
      '[timeouts]\nstall_seconds = 0',
      './fileconv.toml: timeouts.stall_seconds must be a number of seconds from 0.001 to 86400, not 0',
    ],
    [
      'a time without its unit',
      '[policies]\nupload_deadline = 30',
      './fileconv.toml: policies.upload_deadline must be a time with its unit, for example "10 minutes" or "7 days", not 30',
    ],
    [
      'a time whose unit is unknown',
      '[policies]\nupload_deadline = "3 weekends"',
      './fileconv.toml: policies.upload_deadline must be a time with its unit, for example "10 minutes" or "7 days", not "3 weekends"',
    ],
    [
      'an unknown choice',
      '[policies]\non_unknown_outcome = "retry"',
      './fileconv.toml: policies.on_unknown_outcome must be one of "resubmit", "fail", not "retry"',
    ],
    [
      'an empty text',
      '[worker]\ntask_queue = " "',
      './fileconv.toml: worker.task_queue must be a text that is not empty, not " "',
    ],
    [
      'a date where a text belongs',
      '[worker]\ntask_queue = 2020-01-01',
      './fileconv.toml: worker.task_queue must be a text that is not empty, not a table',
    ],
    [
      'a default app that is not there',
      `default_app = "mian"\n${mainApp}`,
      './fileconv.toml: default_app names the app "mian", which has no [apps.mian]; did you mean "main"?',
    ],
    [
      'a default app whose name every object knows',
      `default_app = "constructor"\n${mainApp}`,
      './fileconv.toml: default_app names the app "constructor", which has no [apps.constructor]; known: embedded, main',
    ],
    [
      'an app name that no variable can spell',
      mainApp.replace('main', '"my.app"'),
      './fileconv.toml: [apps."my.app"]: the name of an app may hold letters, digits, "-" and "_" only',
    ],
    [
      'two apps whose variables have one name',
      `${mainApp.replace('apps.main', 'apps.my-app')}${mainApp.replace('apps.main', 'apps.my_app')}`,
      `./fileconv.toml: [apps.my_app] and [apps.my-app] share their variables' names; rename one`,
    ],
    [
      'a base URL of another protocol',
      mainApp.replace('https:', 'ftp:'),
      './fileconv.toml: apps.main.base_url must be an http or https URL, for example "https://api.example.com"',
    ],
    [
      'a base URL that is none',
      mainApp.replace('https://api', 'api'),
      './fileconv.toml: apps.main.base_url must be an http or https URL, for example "https://api.example.com"',
    ],
    [
      'a base URL with a password, which it does not repeat',
      mainApp.replace('https://', 'https://me:hush@'),
      './fileconv.toml: apps.main.base_url must not hold a user name or password: secrets have settings and variables of their own',
    ],
    [
      'a base URL with a query',
      mainApp.replace('.com/', '.com/?k=hush'),
      './fileconv.toml: apps.main.base_url must end with its path, without "?" or "#"',
    ],
    [
      'a missing base URL',
      '[apps.main]\napp_id = "a1"\ntoken_env = "T"',
      './fileconv.toml: apps.main.base_url is missing; it must be an http or https URL, for example "https://api.example.com"',
    ],
    [
      'a missing App ID',
      '[apps.main]\nbase_url = "https://x.test"\ntoken_env = "T"',
      './fileconv.toml: apps.main.app_id is missing; it must be a text that is not empty',
    ],
    [
      'a metrics address without a port',
      '[worker]\nmetrics_address = "127.0.0.1"',
      './fileconv.toml: worker.metrics_address must be an IP address and a port, for example "127.0.0.1:9464", not "127.0.0.1"',
    ],
    [
      'a metrics address by name',
      '[service]\nmetrics_address = "localhost:9465"',
      './fileconv.toml: service.metrics_address must be an IP address and a port, for example "127.0.0.1:9464", not "localhost:9465"',
    ],
    [
      'a metrics address that other machines can reach',
      '[callbacks]\nmetrics_address = "0.0.0.0:9466"',
      './fileconv.toml: callbacks.metrics_address is 0.0.0.0:9466, which other machines can reach; use 127.0.0.1, or allow it with remote = "on" in [metrics]',
    ],
    [
      'a codec server that other machines can reach without a token',
      '[codec]\nhost = "0.0.0.0"',
      './fileconv.toml: codec.host is 0.0.0.0, which other machines can reach; use 127.0.0.1, or have them know a token: token_env or token_file in [codec]',
    ],
    [
      'a health address that other machines can reach',
      '[worker]\nhealth_address = "0.0.0.0:9470"',
      './fileconv.toml: worker.health_address is 0.0.0.0:9470, which other machines can reach; use 127.0.0.1, or allow it with remote = "on" in [metrics]',
    ],
    [
      'an app without a token',
      mainApp.replace('token_env = "MAIN_TOKEN"', ''),
      'app "main" has no token: set token_env or token_file in [apps.main], or FILECONV_APPS_MAIN_TOKEN',
    ],
    [
      'an app with two tokens',
      `${mainApp}token_file = "t"`,
      './fileconv.toml: apps.main.token_env and ./fileconv.toml: apps.main.token_file both say where the token of app "main" is; keep one',
    ],
    [
      'a token in the place of its variable, which it does not repeat',
      mainApp.replace('MAIN_TOKEN', 'hush-4f7c'),
      `./fileconv.toml: apps.main.token_env ${noVariable}`,
    ],
    [
      'a token of letters in the place of its variable, which it does not repeat',
      mainApp.replace('MAIN_TOKEN', 'hUsh4f7c'),
      `./fileconv.toml: apps.main.token_env ${noVariable}`,
    ],
    [
      'encryption keys in the place of their variable, which it does not repeat',
      '[encryption]\nkey_env = "2026-11:aHVzaA=="',
      `./fileconv.toml: encryption.key_env ${noVariable}`,
    ],
    [
      'a token in the place of its file, which it does not repeat',
      mainApp.replace('token_env = "MAIN_TOKEN"', `token_file = "${'4f7c'.repeat(8)}"`),
      `./fileconv.toml: apps.main.token_file ${noFile}`,
    ],
    [
      'encryption keys in the place of their file, which it does not repeat',
      '[encryption]\nkey_file = "2026-11:aHVz/aA="',
      `./fileconv.toml: encryption.key_file ${noFile}`,
    ],
    [
      'a token in the file, which it does not repeat',
      `${mainApp}token = "hush"`,
      './fileconv.toml: apps.main.token must not stand in this file, which is shared and backed up: use token_env = "VARIABLE" or token_file = "PATH", and replace the token if others could read it',
    ],
  ];
  it.each(refused)('is refused for %s', async (_title, toml, expected) => {
    const problems = await problemsOf(toml);
    expect(problems).toEqual([expected]);
    expect(problems.join()).not.toContain('hush');
  });

  it('is told all its problems at once, a line each', async () => {
    const problems = await problemsOf('[service]\nport = -1\nhots = "x"\n[worker]\ntask_queue = 3');
    expect(problems).toEqual([
      './fileconv.toml: worker.task_queue must be a text that is not empty, not 3',
      './fileconv.toml: service.port must be a whole number from 0 to 65535, not -1',
      './fileconv.toml: unknown key service.hots; did you mean "host"?',
    ]);
  });
});
