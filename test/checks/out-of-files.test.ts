import { tellOutOfFiles } from '../support/out-of-files';

it('a worker without free file descriptors survives, and checks results again once there are some', () => {
  const told = tellOutOfFiles({
    free: 0,
    before: `
      const { problemByCommand } = load('dist/checks/check-command.js');
      const { Opening } = load('dist/checks/opening.js');
      const opening = new Opening();
      const { signal } = new AbortController();
      const looks = [
        () => problemByCommand('/a.pdf', { argv: ['true'] }, signal),
        () => opening.ask({ output: 'pdf' }, signal),
      ];
      setInterval(() => undefined, 1000);`,
    told: `Promise.all(looks.map((look) => look().then(() => 'checked', String)))`,
  });
  const notRun = expect.stringMatching(/^CheckNotRunError: .*EMFILE/) as string;
  expect(told).toEqual([
    [notRun, notRun],
    ['checked', 'checked'],
  ]);
});
