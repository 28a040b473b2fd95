import { createHash, randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../../test/support/until';
import { type ServiceApp, startConversionService } from '../../service/src';
import { hashToken } from '../../service/src/accounts/account';
import { createCallbackApp, startReceiver } from '../../service/test/callbacks/receiver';
import { createDataDir } from '../../service/test/support';
import type { Capabilities, Credentials, Target } from '../src';
import { sample } from '../src/target';

/** The embedded service with an account for each need of a rule. */

interface TestAccount extends Credentials {
  readonly app: ServiceApp;
}

function account(name: string, settings: Partial<ServiceApp> = {}): TestAccount {
  const token = `token-${name}-${randomUUID()}`;
  const appId = randomUUID();
  return { appId, token, app: { name, appId, tokenSha256: hashToken(token), ...settings } };
}

/** Settings that are not available as options, and the app whose settings change. */
const accountsFile = ({ appId, app }: TestAccount, registeredHashes: readonly string[]): string => `
extra_api_versions = ["v2"]

[free_app]
enabled = true
daily_conversions = 1
disabled_endpoints = ["convert/graph"]

[apps.development]
app_id = "${appId}"
token_sha256 = "${app.tokenSha256.toString()}"
development = { sha256 = ${JSON.stringify(registeredHashes)} }
`;

const lifetimeSeconds = 0.01;
const maxUploadBytes = 1024;
const limitedRequests = 5;

export interface EmbeddedTarget {
  target: Target;
  stop: () => Promise<void>;
}

export async function startEmbeddedTarget(): Promise<EmbeddedTarget> {
  const receiver = await startReceiver();
  const { callbackDomains, privateCallbackHosts } = createCallbackApp().app;
  const own = account('own', { callbackDomains, privateCallbackHosts });
  const apps = {
    secondApp: account('second'),
    freePlanApp: account('free-plan', { plan: 'free' }),
    noCreditsApp: account('no-credits', { vcredits: 2, prices: { '*': 3 } }),
    pricedApp: account('priced', { vcredits: 1_000, prices: { '*': 3 } }),
    rateLimitedApp: account('limited', { rateLimits: { windowSeconds: 1, poll: limitedRequests } }),
    shortUploadsApp: account('short-uploads', { uploadLifetimeSeconds: lifetimeSeconds }),
    shortDownloadsApp: account('short-downloads', { downloadLifetimeSeconds: lifetimeSeconds }),
    smallUploadsApp: account('small-uploads', { maxUploadBytes }),
  };
  const dataDir = await createDataDir();
  const development = account('development');
  const file = path.join(dataDir, 'accounts.toml');
  const registered = [createHash('sha256').update(sample.bytes).digest('hex')];
  await writeFile(file, accountsFile(development, registered));
  const service = await startConversionService({
    dataDir,
    apps: [own, ...Object.values(apps)].map(({ app }) => app),
    // Makes the second of two conversions wait.
    conversionConcurrency: 1,
  });
  const register = async (hashes: readonly string[]): Promise<void> => {
    await writeFile(file, accountsFile(development, hashes));
    await service.reloadAccounts();
  };
  const uploads = path.join(dataDir, 'uploads');
  const capabilities: Partial<Capabilities> = {
    ...apps,
    developmentApp: { ...development, withdraw: () => register([]), restore: () => register(registered) },
    rateLimitedApp: { ...apps.rateLimitedApp, requests: limitedRequests },
    shortUploadsApp: { ...apps.shortUploadsApp, seconds: lifetimeSeconds },
    shortDownloadsApp: { ...apps.shortDownloadsApp, seconds: lifetimeSeconds },
    smallUploadsApp: { ...apps.smallUploadsApp, maxBytes: maxUploadBytes },
    callback: {
      createUrl: () => `${receiver.url}${randomUUID()}`,
      async received(url) {
        const { pathname } = new URL(url);
        const find = () => receiver.received.find((each) => each.path === pathname);
        await until('the callback has come', () => find() !== undefined);
        return find() ?? { method: '', body: '' };
      },
    },
    unverifiedCallback: { url: 'https://unverified.example.com/done' },
    otherVersion: { segment: 'v2' },
    serverFailure: {
      provoke: () => rename(uploads, `${uploads}-away`),
      restore: () => rename(`${uploads}-away`, uploads),
    },
    freeApp: { appId: 'free', token: 'FREE-TOKEN', disabledEndpoint: 'v1/convert/graph', dailyConversions: 1 },
  };
  return {
    target: { baseUrl: service.url, appId: own.appId, token: own.token, capabilities },
    stop: async () => {
      await service.close();
      await receiver.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
