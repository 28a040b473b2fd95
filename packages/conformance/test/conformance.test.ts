import { checkRule, type Outcome, rules, Session, type Target } from '../src';
import { startEmbeddedTarget } from './embedded-target';

/** Every rule of the document against the embedded service, over HTTP. */

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
