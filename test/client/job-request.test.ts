import { pathToFileURL } from 'node:url';
import schemas from '../../docs/embedding/schemas.json';
import { InvalidRequestError, newWorkflowId, toJobInput } from '../../src/client/job-request';

describe('toJobInput', () => {
  it('resolves paths, since the worker has a different working directory', () =>
    expect(toJobInput({ source: 'a b.md', output: 'pdf', destination: 'out/' }, 'embedded')).toEqual({
      app: 'embedded',
      source: { uri: pathToFileURL(`${process.cwd()}/a b.md`).href },
      output: 'pdf',
      destination: pathToFileURL(`${process.cwd()}/out/a b.pdf`).href,
    }));

  it('leaves URIs and connectors unchanged', () => {
    const source = { connector: 'c-1' };
    expect(toJobInput({ source, output: 'pdf' }, 'embedded').source).toEqual(source);
    expect(toJobInput({ source: 'file:///x/a.md', output: 'pdf' }, 'embedded').source).toEqual({
      uri: 'file:///x/a.md',
    });
  });

  it('takes every field that the schema of the Nexus operation names', () => {
    const fields = Object.keys(schemas.$defs.ConvertInput.properties).filter((field) => field !== 'key');
    const request = Object.fromEntries(fields.map((field) => [field, null]));
    expect(() => toJobInput(request as never, 'embedded')).toThrow(/^(?!.*Unrecognized)/);
  });

  it.each([
    [{ source: '', output: 'pdf' }, 'source'],
    [{ source: {} as { uri: string }, output: 'pdf' }, 'source: must be a path, a URI, { uri } or { connector }'],
    [{ source: 'a.md', output: '../pdf' }, 'output'],
    [{ source: 'a.md', output: 'pdf', policies: { uploadDeadline: 'soon' } }, 'policies.uploadDeadline'],
    [{ source: 'a.md', output: 'pdf', policies: { conversionDeadline: 1e16 } }, 'at most 100 years'],
    [{ source: 'a.md', output: 'pdf', policies: { uploadDeadline: '0 s' } }, 'policies.uploadDeadline'],
    [{ source: 'a.md', output: 'pdf', policies: { maxResubmissions: -1 } }, 'policies.maxResubmissions'],
    [{ source: 'a.md', output: 'pdf', onExisting: 'replace' as 'fail' }, 'onExisting'],
    [{ source: 'a.md', output: 'pdf', parameters: { output: 'html' } }, 'parameters'],
    [{ source: 'a.md', output: 'pdf', token: 'secret' }, 'token'],
    [{ source: 's3://me:secret@in/a.md', output: 'pdf' }, 'source: holds a user name'],
    [{ source: { uri: 'https://me@example.com/a.md' }, output: 'pdf' }, 'source: holds a user name'],
    [{ source: 'a.md', output: 'pdf', destination: 's3://me:secret@out/' }, 'destination: holds a user name'],
  ])('rejects %j and names the field', (request, field) => {
    expect(() => toJobInput(request, 'embedded')).toThrow(InvalidRequestError);
    expect(() => toJobInput(request, 'embedded')).toThrow(field);
  });
});

describe('newWorkflowId', () => {
  it('returns an id that people can type', () => {
    expect(newWorkflowId({ uri: 'file:///x/My%20report%20%C3%BC.md' }, { isHidden: false })).toMatch(
      /^convert\/My-report-ü\.md-[0-9a-f]{8}$/,
    );
  });

  it('reveals nothing about the source if payloads are encrypted, since ids never are', () => {
    expect(newWorkflowId({ uri: 'file:///x/report.md' }, { isHidden: true })).toMatch(/^convert\/[0-9a-f]{16}$/);
  });
});
