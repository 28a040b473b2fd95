import { resultUri } from '../../src/batch/uris';
import { jobIdOf, numberedDestination } from '../../src/job/job-id';

it.each([
  ['file:///out/report.pdf', 1, 'file:///out/report.pdf'],
  ['file:///out/report.pdf', 2, 'file:///out/report%20(1).pdf'],
  ['s3://bucket/a.b/report', 3, 's3://bucket/a.b/report%20(2)'],
  ['file:///out/.profile', 2, 'file:///out/.profile%20(1)'],
])('the result at %s of job %i is %s', (destination, number, numbered) => {
  expect(numberedDestination(destination, number)).toBe(numbered);
});

it.each([
  [
    'file:///out/a~b%20[1].pdf',
    ['file:///out/a%7Eb %5B1%5D.pdf', 'file:/out//x/../a~b%20[1].pdf', 'FILE://localhost/out/./a~b%20[1].pdf'],
  ],
  ['s3://bucket/dt%3D1/a%20b.pdf', ['S3://bucket/dt=1/a b.pdf']],
])('the job of %s has one id, however the destination is spelled', (destination, others) => {
  expect(others.map((other) => jobIdOf(other))).toEqual(others.map(() => jobIdOf(destination)));
});

it('a result has one place in a folder, however its source is spelled', () => {
  const [one, other] = ['file:///in/a~b.md', 'file:/in/x/../a%7Eb.md'].map((uri) =>
    resultUri({ source: { uri }, output: 'html', destination: 'file:///out/' }),
  );
  expect([one, other]).toEqual(['file:///out/a%7Eb.html', 'file:///out/a%7Eb.html']);
});
