import { numberedDestination } from '../../src/job/job-id';

it.each([
  ['file:///out/report.pdf', 1, 'file:///out/report.pdf'],
  ['file:///out/report.pdf', 2, 'file:///out/report%20(1).pdf'],
  ['s3://bucket/a.b/report', 3, 's3://bucket/a.b/report%20(2)'],
  ['file:///out/.profile', 2, 'file:///out/.profile%20(1)'],
  ['file:///out/', 2, 'file:///out/'],
])('the result at %s of job %i is %s', (destination, number, numbered) => {
  expect(numberedDestination(destination, number)).toBe(numbered);
});
