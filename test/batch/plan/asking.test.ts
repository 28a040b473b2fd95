import { askingOf, type FormatQuestions } from '../../../src/batch/plan/settle-row';

/** What the plan of a worker and a dry run say about the formats of a row. */

const service = (answer: Awaited<ReturnType<FormatQuestions['answerAboutPair']>>) => {
  return { answerAboutPair: jest.fn(() => Promise.resolve(answer)), targets: () => Promise.resolve(['webp', 'pdf']) };
};
const pair = { extension: 'md', output: 'wepb', exists: false };

it.each([
  [true, {}, undefined],
  [undefined, {}, undefined],
  [false, {}, 'NO_CONVERTER_INPUT_TO_OUTPUT: The service does not convert md to wepb.'],
  ['unknownOutput', {}, 'INVALID_OUTPUT_FORMAT: The service knows no format wepb. Did you mean webp? See:'],
  // An extension need not be the name of a format.
  ['unknownInput', {}, undefined],
  ['unknownInput', { input: 'mdd' }, 'INVALID_INPUT_FORMAT: The service knows no format mdd. See:'],
  [true, { extension: '' }, "NOT_VALID_EXTENSION: The service takes a file's format from the extension of its name"],
] as const)('turns the answer %s about %j into %s', async (answer, changes, said) => {
  const refusal = await askingOf(service(answer), 'fail')({ ...pair, ...changes });
  if (said === undefined) expect(refusal).toBeUndefined();
  else expect(`${refusal?.code}: ${refusal?.message}`).toContain(said);
});

it('asks the service once for each pair, and not about an existing result that is skipped', async () => {
  const asked = service(true);
  const ask = askingOf(asked, 'skip');
  for (const exists of [true, false, false]) await ask({ ...pair, exists });
  await ask({ ...pair, input: 'gfm' });
  expect(asked.answerAboutPair.mock.calls).toEqual([
    [{ input: 'md', output: 'wepb' }],
    [{ input: 'gfm', output: 'wepb' }],
  ]);
});
