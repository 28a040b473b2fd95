import { errorCodes } from 'temporal-file-conversion/contract';
import { checkRule, type Outcome, rules, Session, type Target } from '../src';
import { startEmbeddedTarget } from './embedded-target';

/** Checks every rule of the document on the embedded service, over HTTP. */

let running: { target: Target; stop: () => Promise<void> };
let session: Session;

beforeAll(async () => {
  running = await startEmbeddedTarget();
  session = new Session(running.target);
});

afterAll(async () => {
  await session.close();
  await running.stop();
});

describe.each([...new Set(rules.map(({ section }) => section))])('%s', (section) => {
  it.each(rules.filter((rule) => rule.section === section))('$rule', async (rule) => {
    const outcome: Outcome = await checkRule(rule, session, running.target);
    expect([outcome.status, outcome.why]).toEqual(['pass', undefined]);
  });
});

describe('the table of error codes', () => {
  it('holds the 24 codes of the document and 20 more that public clients know', () =>
    expect(Object.keys(errorCodes)).toHaveLength(44));

  it('has a rule for every code, except one that the document replaces by another', () => {
    const provoked = rules.map(({ rule }) => rule).join('\n');
    const others = Object.keys(errorCodes).filter((code) => !new RegExp(`\\b${code}\\b`).test(provoked));
    expect(others).toEqual(['ONLY_DEVELOPMENT_FILE']);
  });

  it('describes each code in one sentence', () => {
    for (const { message } of Object.values(errorCodes)) expect(message).toMatch(/^[A-Z][^\n]*\.$/);
  });
});
