import { CreditsWatch, KnownInsufficientError } from '../../src/activities/credits-watch';

const kind = 'billing docx pdf';
let now = 1_000_000;
let watch: CreditsWatch;

beforeEach(() => {
  watch = new CreditsWatch(() => now);
  watch.insufficient(kind);
});

it('one refusal after a word that credits were restored stands for all jobs that were told the same word', () => {
  const word = now + 5_000;
  watch.probe(kind, word);
  watch.insufficient(kind, word);
  for (let job = 0; job < 10_000; job += 1) expect(() => watch.probe(kind, word)).toThrow(KnownInsufficientError);
});

it('a newer word lets jobs ask again at once', () => {
  watch.insufficient(kind, now);
  expect(() => watch.probe(kind, now + 1)).not.toThrow();
});

it('requests that were under way together are refused without a longer pause for each', () => {
  for (let job = 0; job < 10; job += 1) watch.insufficient(kind);
  now += 20_000;
  expect(() => watch.probe(kind)).not.toThrow();
  watch.insufficient(kind);
  now += 20_000;
  expect(() => watch.probe(kind)).toThrow(KnownInsufficientError);
  now += 20_000;
  expect(() => watch.probe(kind)).not.toThrow();
});

it('without a word one job asks for all when the pause is over', () => {
  expect(() => watch.probe(kind)).toThrow(KnownInsufficientError);
  now += 20_000;
  expect(() => watch.probe(kind)).not.toThrow();
  expect(() => watch.probe(kind)).toThrow(KnownInsufficientError);
});
