import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeConfig } from '../../src/commands/config';
import type { Environment } from '../../src/config/sources';
import { mainApp, useConfigFolder } from './config-folder';

const folder = useConfigFolder();
const { load, problemsOf } = folder;

/** docs/configuration.md lists the defaults; it is generated from the schema. */
it('is complete without a file, and keeps its state in the folder', async () => {
  const { values, origins, warnings, file } = await load();
  expect(values.defaultApp).toBe('embedded');
  expect(values.state.dir).toBe(path.join(folder.cwd, '.fileconv'));
  expect(values.service.dataDir).toBe(path.join(folder.cwd, '.fileconv/service'));
  expect(values.policies.conversionDeadline).toBe(604_800_000);
  expect([origins, warnings, file]).toEqual([{}, [], undefined]);
});

it('takes true and false for "on" and "off"', async () => {
  const { values } = await load('[worker]\nshared_files = true\ncommon_limit = false');
  expect(values.worker).toMatchObject({ sharedFiles: 'on', commonLimit: 'off' });
});

describe('precedence', () => {
  const key = 'FILECONV_WORKER_MAX_CONCURRENT_ACTIVITIES';
  const toml = '[worker]\nmax_concurrent_activities = 7';
  const sources: [string, string | undefined, Environment, number, string][] = [
    ['the default when nothing else is said', undefined, {}, 50, ''],
    ['the file over the default', toml, {}, 7, 'fileconv.toml'],
    ['the environment over the default', undefined, { [key]: '9' }, 9, key],
    ['the environment over the file', toml, { [key]: '9' }, 9, key],
    ['the file when the variable is empty', toml, { [key]: '' }, 7, 'fileconv.toml'],
  ];
  it.each(sources)('takes %s', async (_title, toml, env, expected, where) => {
    const { values, origins } = await load(toml, env);
    expect(values.worker.maxConcurrentActivities).toBe(expected);
    expect(path.basename(origins['worker.max_concurrent_activities']?.where ?? '')).toBe(where);
  });

  it('reads every key from its own variable', async () => {
    const env: Record<string, string> = {
      FILECONV_DEFAULT_APP: 'main',
      FILECONV_APPS_MAIN_BASE_URL: 'http://127.0.0.1:1/x',
      FILECONV_APPS_MAIN_APP_ID: 'i',
      FILECONV_APPS_MAIN_TOKEN_FILE: 'token',
    };
    const values: Readonly<Record<string, string>> = {
      'service.engines': 'typst',
      'worker.metrics_address': '127.0.0.1:11',
      'worker.health_address': '127.0.0.1:12',
      'service.metrics_address': '127.0.0.1:13',
      'service.health_address': '127.0.0.1:14',
      'callbacks.metrics_address': '127.0.0.1:15',
      'callbacks.health_address': '127.0.0.1:16',
    };
    const expected = new Map<string, string>();
    for (const { key, value } of describeConfig(await load())) {
      if (key === 'default_app') continue;
      const isUrl = /_url$|origin$|^notify\.url$/.test(key);
      const variable = `FILECONV_${key.replace('.', '_').toUpperCase()}`;
      env[variable] = values[key] ?? (value === '(not set)' ? (isUrl ? 'https://x/text' : 'text') : value);
      expected.set(key, variable);
    }
    const loaded = await load(undefined, env);
    for (const row of describeConfig(loaded)) {
      if (expected.has(row.key)) expect(row.source).toBe(expected.get(row.key));
    }
    expect(loaded.warnings).toEqual([]);
  });
});

describe('metrics addresses', () => {
  it('may be reachable from other machines if metrics.remote allows it', async () => {
    const { values } = await load('[worker]\nmetrics_address = "0.0.0.0:9464"\n[metrics]\nremote = "on"');
    expect(values.worker.metricsAddress).toBe('0.0.0.0:9464');
  });

  it('may be IPv6 addresses in brackets', async () => {
    expect((await load('[service]\nmetrics_address = "[::1]:9464"')).values.service.metricsAddress).toBe('[::1]:9464');
    expect(await problemsOf('[service]\nmetrics_address = "::1:9464"')).toHaveLength(1);
  });
});

describe('the file', () => {
  it('is the one of --config, else of FILECONV_CONFIG, else ./fileconv.toml', async () => {
    await writeFile(path.join(folder.cwd, 'flag.toml'), '[service]\nport = 1');
    await writeFile(path.join(folder.cwd, 'variable.toml'), '[service]\nport = 2');
    await writeFile(path.join(folder.cwd, 'fileconv.toml'), '[service]\nport = 3');
    const env = { FILECONV_CONFIG: 'variable.toml' };
    expect((await load(undefined, env, 'flag.toml')).values.service.port).toBe(1);
    expect((await load(undefined, env)).values.service.port).toBe(2);
    expect((await load(undefined, { FILECONV_CONFIG: '' })).values.service.port).toBe(3);
  });

  it('must exist if it is named', async () => {
    await expect(load(undefined, {}, 'no.toml')).rejects.toThrow(
      `${folder.cwd}/no.toml: the configuration file cannot be read: there is no such file; correct its path in --config or FILECONV_CONFIG, or leave that out`,
    );
    await expect(load(undefined, { FILECONV_CONFIG: '.' })).rejects.toThrow(
      'it is a folder; name another file with --config',
    );
  });

  it('is the base of its relative paths; all others are relative to the working directory', async () => {
    await mkdir(path.join(folder.cwd, 'etc'));
    const toml = '[state]\ndir = "s"\n[apps.main]\nbase_url = "https://x.test"\napp_id = "a"\ntoken_file = "t"';
    await writeFile(path.join(folder.cwd, 'etc/my.toml'), toml);
    const fromFile = await load(undefined, {}, 'etc/my.toml');
    expect(fromFile.values.state.dir).toBe(path.join(folder.cwd, 'etc/s'));
    expect(fromFile.values.service.dataDir).toBe(path.join(folder.cwd, 'etc/s/service'));
    expect(fromFile.values.apps['main']?.token).toEqual({ from: 'file', file: path.join(folder.cwd, 'etc/t') });
    const fromVariable = await load(undefined, { FILECONV_STATE_DIR: 's2' }, 'etc/my.toml');
    expect(fromVariable.values.state.dir).toBe(path.join(folder.cwd, 's2'));
  });

  it('reports line and column of a syntax error, but not the line, which may hold a token', async () => {
    const [problem] = await problemsOf('[worker]\ntoken = "abc');
    expect(problem).toMatch(
      /^\.\/fileconv\.toml:2:\d+: not valid TOML: .*; correct that line, or name another file with --config$/,
    );
    expect(problem).not.toContain('abc');
  });
});

describe('variables', () => {
  it('are named together with the key if their value is invalid', async () =>
    expect(await problemsOf(undefined, { FILECONV_SERVICE_PORT: '80a' })).toEqual([
      'FILECONV_SERVICE_PORT (service.port) must be a whole number from 0 to 65535, not "80a"',
    ]));

  it('cause a warning if unknown, with a suggestion', async () => {
    const { warnings } = await load(undefined, { FILECONV_SERVICE_PROT: '80', FILECONV_APPS_X_URL: 'u', OTHER: '1' });
    expect(warnings).toEqual([
      'FILECONV_SERVICE_PROT is ignored: no key has this name; did you mean "FILECONV_SERVICE_PORT"?',
      'FILECONV_APPS_X_URL is ignored: no key has this name; for apps: FILECONV_APPS_<NAME>_<BASE_URL|APP_ID|TOKEN_ENV|TOKEN_FILE|TOKEN>',
    ]);
  });

  it('can define a whole app, whose name becomes lower case with hyphens', async () => {
    const { values } = await load(undefined, {
      FILECONV_DEFAULT_APP: 'my-app',
      FILECONV_APPS_MY_APP_BASE_URL: 'https://x.test/api/',
      FILECONV_APPS_MY_APP_APP_ID: 'a2',
      FILECONV_APPS_MY_APP_TOKEN: 'hush',
    });
    expect(values.apps).toEqual({
      'my-app': {
        name: 'my-app',
        baseUrl: 'https://x.test/api',
        appId: 'a2',
        token: { from: 'environment', variable: 'FILECONV_APPS_MY_APP_TOKEN' },
      },
    });
    expect(JSON.stringify(values)).not.toContain('hush');
  });

  it('change the app of the file whose name matches, with underscore or hyphen', async () => {
    const { values } = await load(mainApp.replace('apps.main', 'apps.My_App'), { FILECONV_APPS_MY_APP_APP_ID: 'a3' });
    expect([values.apps['My_App']?.appId, Object.keys(values.apps)]).toEqual(['a3', ['My_App']]);
  });

  it('replace the token source of the file, whatever its kind', async () => {
    const { values } = await load(mainApp, { FILECONV_APPS_MAIN_TOKEN_FILE: '/run/t' });
    expect(values.apps['main']?.token).toEqual({ from: 'file', file: '/run/t' });
    const withFile = mainApp.replace('token_env = "MAIN_TOKEN"', 'token_file = "t"');
    const other = await load(withFile, { FILECONV_APPS_MAIN_TOKEN_ENV: 'OTHER' });
    expect(other.values.apps['main']?.token).toEqual({ from: 'environment', variable: 'OTHER' });
    expect(other.origins).not.toHaveProperty(['apps.main.token_file']);
  });

  it('may not name two token sources', async () => {
    const env = { FILECONV_APPS_MAIN_TOKEN_FILE: '/run/t', FILECONV_APPS_MAIN_TOKEN: 'hush' };
    const [problem] = await problemsOf(mainApp, env);
    expect(problem).toContain('both say where the token of app "main" is; keep one');
    expect(problem).not.toContain('hush');
  });
});

it('wants a program in a command', async () => {
  const [problem] = await problemsOf('[worker]\ncheck_command = []');
  expect(problem).toContain('worker.check_command must name a program; leave it out to use none');
});

describe('a list of names', () => {
  it('is a list in the file, and text with commas in a variable', async () => {
    const inFile = await load('[worker]\nnexus_apps = ["invoices", "letters"]');
    const inVariable = await load(undefined, { FILECONV_WORKER_NEXUS_APPS: 'invoices, letters' });
    for (const { values } of [inFile, inVariable]) expect(values.worker.nexusApps).toEqual(['invoices', 'letters']);
    expect(describeConfig(inFile)).toContainEqual(
      expect.objectContaining({ key: 'worker.nexus_apps', value: 'invoices, letters' }),
    );
  });

  it.each(['["invoices", ""]', '[1]', '1'])('is not %s', async (value) => {
    const [problem] = await problemsOf(`[worker]\nnexus_apps = ${value}`);
    expect(problem).toContain('worker.nexus_apps must be a list of names, for example ["invoices"]');
  });
});

describe('hosts that may be read', () => {
  it('are names, addresses and networks', async () => {
    const hosts = ['files.example', '10.0.0.0/8', '::1', 'fd00::/8', 'my_host'];
    expect((await load(`[https]\nallowed_hosts = ${JSON.stringify(hosts)}`)).values.https.allowedHosts).toEqual(hosts);
  });

  it.each(['127.0.0.0/99', 'a b', 'https://127.0.0.1:9443/', '::1/129', '10.0.0.0/8/8', ''])(
    'are not %j',
    async (host) => {
      const [problem] = await problemsOf(`[https]\nallowed_hosts = ["files.example", ${JSON.stringify(host)}]`);
      expect(problem).toContain('https.allowed_hosts must be a list of hosts, addresses and networks');
    },
  );
});

it.each([
  ['http://api.example.com', 1],
  ['http://127.evil.example.com', 1],
  ['http://127.0.0.1:8080', 0],
  ['http://localhost:8080', 0],
  ['http://[::1]:8080', 0],
  ['https://api.example.com', 0],
])('a plain http base URL %s leads to %i warnings', async (url, count) => {
  const { warnings } = await load(mainApp.replace('https://api.example.com/', url));
  expect(warnings).toHaveLength(count);
  if (count > 0) expect(warnings[0]).toContain('fileconv.toml: apps.main.base_url is plain http');
});

describe('describeConfig', () => {
  it('shows only the origin of a notification URL, because the rest may be a secret', async () => {
    const shownOf = async (url: string) =>
      describeConfig(await load('', { FILECONV_NOTIFY_URL: url })).find(({ key }) => key === 'notify.url')?.value;
    expect(await shownOf('https://hooks.slack.com/services/T0/B0/x4711')).toBe('https://hooks.slack.com/********');
    expect(await shownOf('https://hooks.example.com/?sig=x4711')).toBe('https://hooks.example.com/********');
    expect(await shownOf('http://127.0.0.1:8080')).toBe('http://127.0.0.1:8080');
  });

  it('shows every key with its source and masks the token', async () => {
    const env = { FILECONV_APPS_MAIN_TOKEN: 'hush', FILECONV_TIMEOUTS_CONNECT_SECONDS: '2.5' };
    const rows = describeConfig(await load(`default_app = "main"\n${mainApp}`, env));
    const file = path.join(folder.cwd, 'fileconv.toml');
    expect(rows).toEqual(
      expect.arrayContaining([
        { key: 'default_app', value: 'main', source: file },
        { key: 'temporal.address', value: '(not set)', source: 'default' },
        { key: 'timeouts.connect_seconds', value: '2.5', source: 'FILECONV_TIMEOUTS_CONNECT_SECONDS' },
        { key: 'policies.conversion_deadline', value: '7 days', source: 'default' },
        { key: 'policies.max_resubmissions', value: '3', source: 'default' },
        { key: 'apps.main.base_url', value: 'https://api.example.com', source: file },
        { key: 'apps.main.token', value: '********', source: 'variable FILECONV_APPS_MAIN_TOKEN' },
      ]),
    );
    expect(JSON.stringify(rows)).not.toContain('hush');
  });
});
