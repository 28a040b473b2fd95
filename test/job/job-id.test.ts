import { jobIdOf, numberedDestination } from '../../src/job/job-id';

it.each([
  ['file:///out/report.pdf', 1, 'file:///out/report.pdf'],
  ['file:///out/report.pdf', 2, 'file:///out/report%20(1).pdf'],
  ['s3://bucket/a.b/report', 3, 's3://bucket/a.b/report%20(2)'],
  ['file:///out/.profile', 2, 'file:///out/.profile%20(1)'],
  ['file:///out/', 2, 'file:///out/'],
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
  const source = { uri: 'file:///in/report.md' };
  const id = jobIdOf({ source, destination });
  expect(others.map((other) => jobIdOf({ source, destination: other }))).toEqual(others.map(() => id));
});

it('the job of a folder has one id, however its source is spelled', () => {
  const [one, other] = ['file:///in/a~b.md', 'file:/in/x/../a%7Eb.md'].map((uri) =>
    jobIdOf({ source: { uri }, destination: 'file:///out/' }),
  );
  expect(one).toBe(other);
});
