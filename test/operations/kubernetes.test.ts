import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Service } from 'kubernetes-models/v1/Service';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadConfig, type LoadedConfig } from '../../packages/cli/src/config/load-config';
import { parseAccountsFile } from '../../packages/service/src/accounts/accounts-file';
import { findUnknownWord } from '../support/command-lines';

/** The files in deploy/kubernetes, checked against Kubernetes' schemas, the command line, the configuration and each other. */

const root = path.resolve(__dirname, '../..');
const folder = path.join(root, 'deploy/kubernetes');
const textOf = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const inBase = (name: string) => `base/${name}`;
const imageEnv = Object.fromEntries(
  [...readFileSync(path.join(root, 'deploy/Containerfile'), 'utf8').matchAll(/(FILECONV_\w+)=(\S+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

const probe = z.looseObject({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const container = z.looseObject({
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).default([]),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  startupProbe: probe.optional(),
  securityContext: z.unknown(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
});
const podSpec = z.looseObject({
  terminationGracePeriodSeconds: z.int().optional(),
  containers: z.tuple([container]),
  volumes: z.array(
    z.looseObject({
      name: z.string(),
      secret: z.looseObject({ items: z.array(z.object({ key: z.string(), path: z.string() })) }).optional(),
    }),
  ),
});
const podTemplate = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }), spec: podSpec });
const resource = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: podTemplate.optional() }).optional(),
});
type Resource = z.infer<typeof resource>;

const resourcesOf = (file: string): Resource[] =>
  parseAllDocuments(textOf(file)).map((document) => resource.parse(document.toJS()));
const listed = z.object({ resources: z.array(z.string()) });
const base = listed
  .parse(parse(textOf('base/kustomization.yaml')))
  .resources.map(inBase)
  .flatMap(resourcesOf);
const models = { Deployment, StatefulSet, Job, NetworkPolicy, PodDisruptionBudget, Namespace, Service };

function validate({ kind, ...rest }: Resource): void {
  const Model = models[kind as keyof typeof models];
  new Model(rest as never).validate();
}

function podOf(kind: string, name: string, resources = base) {
  const template = resources.find((each) => each.kind === kind && each.metadata.name === name)?.spec?.template;
  if (!template) throw new Error(`There is no ${kind} ${name}.`);
  return { ...template.spec, labels: template.metadata.labels, container: template.spec.containers[0] };
}

const controlled = resourcesOf('worker-controller/worker-deployment.yaml');
const pods = {
  worker: podOf('Deployment', 'fileconv-worker'),
  callbacks: podOf('Deployment', 'fileconv-callbacks'),
  service: podOf('StatefulSet', 'fileconv-service'),
};
const parts = ['worker', 'callbacks', 'service'] as const;
type Part = (typeof parts)[number];

async function configOf(part: Part): Promise<LoadedConfig> {
  const env = Object.fromEntries(pods[part].container.env.map(({ name, value }) => [name, value]));
  return loadConfig({ cwd: '/srv/files', env: { ...imageEnv, ...env }, file: path.join(folder, 'base/fileconv.toml') });
}

it("the resources are valid by Kubernetes' schemas, and an invalid one is detected", () => {
  for (const each of base) validate(each);
  expect(base.length).toBeGreaterThan(8);
  const [worker] = resourcesOf('base/worker.yaml');
  if (!worker) throw new Error('There is no worker.');
  expect(() => validate({ ...worker, spec: { ...worker.spec, replicas: 'two' } })).toThrow('replicas');
});

it('the kustomization lists every file of the folder', () => {
  const files = readdirSync(path.join(folder, 'base')).filter(
    (name) => name.endsWith('.yaml') && name !== 'kustomization.yaml',
  );
  expect(listed.parse(parse(textOf('base/kustomization.yaml'))).resources.sort()).toEqual(files.sort());
});

describe.each(parts)('the pods of the %s', (part) => {
  const { container: own, volumes, labels, ...spec } = pods[part];

  it('start an existing command with valid keys, and have their health probes at the right port', async () => {
    expect(own.args).toEqual([part, '--config', '/etc/fileconv/fileconv.toml']);
    expect(findUnknownWord(own.args)).toBeUndefined();
    const { values, warnings } = await configOf(part);
    expect(warnings.filter((warning) => !warning.includes('plain http'))).toEqual([]);
    const ports = Object.fromEntries(own.ports.map(({ name, containerPort }) => [name, `0.0.0.0:${containerPort}`]));
    const { healthAddress: health, metricsAddress: metrics } = values[part];
    expect(ports).toMatchObject({ health, metrics });
    expect([own.livenessProbe, own.readinessProbe, own.startupProbe].map((each) => each?.httpGet)).toEqual(
      ['/healthz', '/readyz', '/healthz'].map((url) => ({ path: url, port: 'health' })),
    );
  });

  it('do not run as root, may write only to their own volumes, and mount all of them', () => {
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(own.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const kept = part === 'service' ? ['state'] : [];
    expect([...volumes.map(({ name }) => name), ...kept].sort()).toEqual(
      own.volumeMounts.map(({ name }) => name).sort(),
    );
    const paths = Object.fromEntries(own.volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
    expect(paths).toMatchObject({ config: '/etc/fileconv', state: '/var/lib/fileconv' });
  });

  it('have enough time to end', async () => {
    const { worker, timeouts, policies } = (await configOf(part)).values;
    const answer = Math.max(timeouts.headersSeconds, policies.submitTimeout / 1_000);
    const longest = part === 'worker' ? worker.shutdownGraceSeconds + answer : 10;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(longest);
  });

  it('are selected by the service of the same name and by the disruption budget', () => {
    const selectors = base.flatMap(({ kind, metadata, spec: chosen }) =>
      metadata.name === `fileconv-${part}` && ['Service', 'PodDisruptionBudget'].includes(kind)
        ? [chosen?.['selector']]
        : [],
    );
    expect(selectors.length).toBeGreaterThan(0);
    for (const selector of selectors) expect([labels, { matchLabels: labels }]).toContainEqual(selector);
  });
});

it("the pods find the secret's files where the configuration looks for them", async () => {
  const { apps, callbacks, service } = (await configOf('service')).values;
  const { token } = apps['cluster'] ?? {};
  const wanted = {
    worker: [token?.from === 'file' && token.file, callbacks.keyFile],
    callbacks: [callbacks.keyFile],
    service: [service.accountsFile],
  };
  for (const part of parts) {
    const mounted = pods[part].volumes.flatMap(({ secret }) => secret?.items ?? []);
    const files = mounted.map((item) => `/run/secrets/fileconv/${item.path}`);
    // Nothing else: an intruder in one pod must not get the secrets of another part.
    expect(files).toEqual(wanted[part]);
  }
});

it('the pods find each other by the names and ports of their services', async () => {
  const { apps, callbacks, service } = (await configOf('worker')).values;
  expect(apps['cluster']?.baseUrl).toBe(`http://fileconv-service:${service.port}`);
  expect(callbacks.publicBaseUrl).toBe(`http://fileconv-callbacks:${callbacks.port}`);
  expect([service.host, callbacks.host, service.allowRemote]).toEqual(['0.0.0.0', '0.0.0.0', 'on']);
  const portOf = (part: Part, name: string) => pods[part].container.ports.find((port) => port.name === name);
  expect([portOf('service', 'api'), portOf('callbacks', 'callbacks')]).toEqual([
    { name: 'api', containerPort: service.port },
    { name: 'callbacks', containerPort: callbacks.port },
  ]);
});

it('the page creates accounts that the service accepts, for the app of the configuration', async () => {
  const page = readFileSync(path.join(root, 'docs/operations/kubernetes.md'), 'utf8');
  const [, accounts = ''] = /accounts\.toml <<EOF\n([^]*?)\nEOF/.exec(page) ?? [];
  const { apps } = parseAccountsFile(accounts.replace(/\$\(.*\)/, 'a'.repeat(64)), 'accounts.toml');
  const { apps: configured, callbacks } = (await configOf('worker')).values;
  expect(apps.map(({ name, appId }) => [name, appId])).toEqual([['cluster', configured['cluster']?.appId]]);
  const { hostname } = new URL(callbacks.publicBaseUrl ?? '');
  expect(apps[0]).toMatchObject({ callbackDomains: [hostname], privateCallbackHosts: [hostname] });
});

it('the page creates the secrets for stores and Temporal, and each pod gets only those that it needs', () => {
  const page = readFileSync(path.join(root, 'docs/operations/kubernetes.md'), 'utf8');
  const secretOf = (variable: string) => {
    const [, name = ''] = new RegExp(`create secret generic (\\S+) --from-literal=${variable}=`).exec(page) ?? [];
    return { secretRef: { name, optional: true } };
  };
  const temporal = secretOf('TEMPORAL_API_KEY');
  const sources = [...Object.values(pods), podOf('Job', 'fileconv-namespace-init')].map(
    ({ container: { envFrom } }) => envFrom,
  );
  expect(sources).toEqual([[secretOf('AWS_ACCESS_KEY_ID'), temporal], [temporal], undefined, [temporal]]);
});

it('the service has enough memory for its concurrent conversions', async () => {
  const { conversionConcurrency, maxConversionMemoryBytes } = (await configOf('service')).values.service;
  const limits = z.object({ limits: z.object({ memory: z.string().regex(/^\d+Gi$/) }) });
  const gibibytes = Number.parseInt(limits.parse(pods.service.container['resources']).limits.memory, 10);
  expect((gibibytes - 1) * 1024 ** 3).toBeGreaterThanOrEqual(conversionConcurrency * maxConversionMemoryBytes);
});

it('images have the version of the package everywhere', () => {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));
  const tagged = z.object({ images: z.array(z.object({ name: z.string(), newTag: z.string() })) });
  for (const file of ['base/kustomization.yaml', 'worker-controller/kustomization.yaml']) {
    const { images } = tagged.parse(parse(textOf(file)));
    for (const { newTag } of images) expect(newTag).toBe(version);
  }
});

it('KEDA and the Worker Controller use the queue, the namespace and the server of the configuration', async () => {
  const { temporal, worker } = (await configOf('worker')).values;
  const { address: endpoint, namespace } = temporal;
  const [scaled] = resourcesOf('keda/scaled-object.yaml');
  expect(scaled).toMatchObject({
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    spec: {
      scaleTargetRef: { name: 'fileconv-worker' },
      triggers: [{ type: 'temporal', metadata: { endpoint, namespace, taskQueue: worker.taskQueue } }],
    },
  });
  expect(controlled).toMatchObject([
    { kind: 'Connection', spec: { hostPort: endpoint } },
    { kind: 'WorkerDeployment', spec: { workerOptions: { temporalNamespace: namespace } } },
  ]);
});

describe("the worker for Temporal's Worker Controller", () => {
  it('has the same pods as the other one', () =>
    expect(podOf('WorkerDeployment', 'fileconv-worker', controlled)).toEqual(pods.worker));

  it('takes its version from the variables of the controller', async () => {
    const env = { TEMPORAL_DEPLOYMENT_NAME: 'fileconv/fileconv-worker', TEMPORAL_WORKER_BUILD_ID: 'v1-a1b2' };
    const { values } = await loadConfig({ cwd: '/srv/files', env: { ...imageEnv, ...env } });
    expect(values.worker).toMatchObject({ deploymentName: 'fileconv/fileconv-worker', buildId: 'v1-a1b2' });
    const own = { ...env, FILECONV_WORKER_BUILD_ID: 'mine' };
    expect((await loadConfig({ cwd: '/srv/files', env: own })).values.worker.buildId).toBe('mine');
  });
});
