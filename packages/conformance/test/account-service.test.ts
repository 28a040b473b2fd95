import { accountApp, accountToken, startAccountService } from '../../../test/support/account-service';
import { runRules } from '../src';

/** The suite against a service that answers as the document and the public pages say, and that shares nothing with ours. */

it('no rule fails, and only what needs more than an app is skipped', async () => {
  const service = await startAccountService();
  try {
    const outcomes = await runRules({
      baseUrl: service.url,
      appId: accountApp,
      token: accountToken,
      capabilities: { unverifiedCallback: { url: 'https://callback.invalid/' } },
    });
    expect(outcomes.filter(({ status }) => status === 'fail')).toEqual([]);
    expect(outcomes.filter(({ status, why }) => status === 'skipped' && !why?.startsWith('needs '))).toEqual([]);
  } finally {
    await service.close();
  }
});
