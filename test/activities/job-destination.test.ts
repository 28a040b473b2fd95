import { outputName } from '../../src/activities/job-destination';

it.each([
  ['report.md', 'pdf', 'report.pdf'],
  ['archive.tar.gz', 'pdf', 'archive.tar.pdf'],
  ['report', 'docx', 'report.docx'],
  ['notes.docx', 'txt-markdown', 'notes.txt'],
  ['.profile', 'pdf', '.profile.pdf'],
])('names the result of %s in %s %s', (source, output, name) => {
  expect(outputName(source, output)).toBe(name);
});
