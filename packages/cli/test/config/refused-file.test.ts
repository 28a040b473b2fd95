import { mainApp, useConfigFolder } from './config-folder';

const { problemsOf } = useConfigFolder();

const noVariable =
  'must be the name of a variable, in capitals or in small letters; if this is the secret itself, take it out, and replace it if others could read it';
const noFile =
  'must be the path of a file; if this is the secret itself, take it out, and replace it if others could read it';

const aTime = 'must be a time with its unit, for example "10 minutes" or "7 days"';
const aUrl = 'must be an http or https URL, for example "https://api.example.com"';
const anAddress = 'must be an IP address and a port, for example "127.0.0.1:9464"';
const isReached = 'which other machines can reach; use 127.0.0.1, or allow it with remote = "on" in [metrics]';

describe('the file', () => {
  const refused: [toml: string, expected: string][] = [
    ['[worker]\ntask_quue = "x"', 'unknown key worker.task_quue; did you mean "task_queue"?'],
    ['[state]\nzebra = 1', 'unknown key state.zebra; known: dir'],
    ['[wroker]\n', 'unknown name wroker; did you mean "worker"?'],
    ['worker = 3', 'worker must be a table: [worker]'],
    ['apps = 3', 'apps must be a table: [apps.NAME]'],
    ['[apps]\nmain = 3', 'apps.main must be a table: [apps.main]'],
    ['[service]\nport = "80a"', 'service.port must be a whole number from 0 to 65535, not "80a"'],
    ['[service]\nport = 65536', 'service.port must be a whole number from 0 to 65535, not 65536'],
    [
      '[worker]\nmax_concurrent_activities = 1.5',
      'worker.max_concurrent_activities must be a whole number from 1 to 1000, not 1.5',
    ],
    [
      '[worker]\ndeployment_name = "invoices.eu"',
      'worker.deployment_name must be text without dots and colons, not beginning with "__", not "invoices.eu"',
    ],
    ['[timeouts]\nstall_seconds = 0', 'timeouts.stall_seconds must be a number of seconds from 0.001 to 86400, not 0'],
    ['[policies]\nupload_deadline = 30', `policies.upload_deadline ${aTime}, not 30`],
    ['[policies]\nupload_deadline = "3 weekends"', `policies.upload_deadline ${aTime}, not "3 weekends"`],
    [
      '[policies]\non_unknown_outcome = "retry"',
      'policies.on_unknown_outcome must be one of "resubmit", "fail", not "retry"',
    ],
    ['[worker]\ntask_queue = " "', 'worker.task_queue must be non-empty text, not " "'],
    ['[worker]\ntask_queue = 2020-01-01', 'worker.task_queue must be non-empty text, not a table'],
    [
      `default_app = "mian"\n${mainApp}`,
      'default_app names the app "mian", which has no [apps.mian]; did you mean "main"?',
    ],
    // A property of every object.
    [
      `default_app = "constructor"\n${mainApp}`,
      'default_app names the app "constructor", which has no [apps.constructor]; known: embedded, main',
    ],
    // A variable name cannot contain the dot.
    [
      mainApp.replace('main', '"my.app"'),
      '[apps."my.app"]: the name of an app may hold letters, digits, "-" and "_" only',
    ],
    [
      `${mainApp.replace('apps.main', 'apps.my-app')}${mainApp.replace('apps.main', 'apps.my_app')}`,
      `[apps.my_app] and [apps.my-app] share their variables' names; rename one`,
    ],
    [mainApp.replace('https:', 'ftp:'), `apps.main.base_url ${aUrl}`],
    [mainApp.replace('https://api', 'api'), `apps.main.base_url ${aUrl}`],
    [
      mainApp.replace('https://', 'https://me:hush@'),
      'apps.main.base_url must not hold a user name or password: secrets have settings and variables of their own',
    ],
    [mainApp.replace('.com/', '.com/?k=hush'), 'apps.main.base_url must end with its path, without "?" or "#"'],
    ['[apps.main]\napp_id = "a1"\ntoken_env = "T"', `apps.main.base_url is missing; it ${aUrl}`],
    [
      '[apps.main]\nbase_url = "https://x.test"\ntoken_env = "T"',
      'apps.main.app_id is missing; it must be non-empty text',
    ],
    ['[worker]\nmetrics_address = "127.0.0.1"', `worker.metrics_address ${anAddress}, not "127.0.0.1"`],
    ['[service]\nmetrics_address = "localhost:9465"', `service.metrics_address ${anAddress}, not "localhost:9465"`],
    ['[callbacks]\nmetrics_address = "0.0.0.0:9466"', `callbacks.metrics_address is 0.0.0.0:9466, ${isReached}`],
    [
      '[codec]\nhost = "0.0.0.0"',
      'codec.host is 0.0.0.0, which other machines can reach; use 127.0.0.1, or have them know a token: token_env or token_file in [codec]',
    ],
    ['[worker]\nhealth_address = "0.0.0.0:9470"', `worker.health_address is 0.0.0.0:9470, ${isReached}`],
    [
      `${mainApp}token_file = "t"`,
      'apps.main.token_env and ./fileconv.toml: apps.main.token_file both say where the token of app "main" is; keep one',
    ],
    [mainApp.replace('MAIN_TOKEN', 'hush-4f7c'), `apps.main.token_env ${noVariable}`],
    [mainApp.replace('MAIN_TOKEN', 'hUsh4f7c'), `apps.main.token_env ${noVariable}`],
    ['[encryption]\nkey_env = "2026-11:aHVzaA=="', `encryption.key_env ${noVariable}`],
    [
      mainApp.replace('token_env = "MAIN_TOKEN"', `token_file = "${'4f7c'.repeat(8)}"`),
      `apps.main.token_file ${noFile}`,
    ],
    ['[encryption]\nkey_file = "2026-11:aHVz/aA="', `encryption.key_file ${noFile}`],
    [
      `${mainApp}token = "hush"`,
      'apps.main.token must not be in this file, which is shared and backed up: use token_env = "VARIABLE" or token_file = "PATH", and replace the token if others could read it',
    ],
  ];
  it.each(refused)('%j is refused: %s', async (toml, expected) => {
    const problems = await problemsOf(toml);
    expect(problems).toEqual([`./fileconv.toml: ${expected}`]);
    // A value in the place of a secret is never repeated.
    expect(problems.join()).not.toMatch(/hush|4f7c|aHVz/);
  });

  it('is refused if an app has no token', async () =>
    expect(await problemsOf(mainApp.replace('token_env = "MAIN_TOKEN"', ''))).toEqual([
      'app "main" has no token: set token_env or token_file in [apps.main], or FILECONV_APPS_MAIN_TOKEN',
    ]));

  it('reports all its problems at once, one per line', async () =>
    expect(await problemsOf('[service]\nport = -1\nhots = "x"\n[worker]\ntask_queue = 3')).toEqual([
      './fileconv.toml: worker.task_queue must be non-empty text, not 3',
      './fileconv.toml: service.port must be a whole number from 0 to 65535, not -1',
      './fileconv.toml: unknown key service.hots; did you mean "host"?',
    ]));
});
