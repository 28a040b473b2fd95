import { accountApp, accountToken, startAccountService } from '../../../test/support/account-service';
import { runRules } from '../src';

/** The suite against an independent service that follows the document and the public pages. */

it('fails no rule, and skips only rules that need more than an app', async () => {
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
