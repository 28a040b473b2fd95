import { pathToFileURL } from 'node:url';
import { explainFailure } from '../src/convert/run-job';

it('explains a failure with paths instead of URIs, and with the file as it was typed', () => {
  const file = '100% #1.md';
  const planned = {
    input: { file, location: `/home/user/${file}`, extension: 'md' },
    to: 'pdf',
    destination: '/home/user/out/100% #1.pdf',
  };
  const [source, result] = [planned.input.location, planned.destination].map((each) => pathToFileURL(each).href);
  const message = `100% #1.md → pdf: Cannot write ${result ?? ''}: no space; read ${source ?? ''}.`;
  expect(explainFailure({ code: 'SOME_CODE', message }, planned, { cwd: '/home/user' })).toEqual({
    code: 'SOME_CODE',
    message: `${file} → pdf: Cannot write out/100% #1.pdf: no space; read ${file}.`,
  });
});
