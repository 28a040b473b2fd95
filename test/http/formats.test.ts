import { closeAll, connectTo, failureOf, readForm, sendJson, serve } from './loopback';

afterEach(closeAll);

const answering = (output: unknown, error: unknown = {}) =>
  serve((response) => sendJson(response, { result: { output, error, warning: {} } }));

it('formats accepts names as well as descriptions', async () => {
  const { baseUrl, seen } = await answering({ formats: ['pdf', { format: 'docx', extension: 'docx', new_key: 1 }] });
  const formats = await connectTo(baseUrl).formats({ sublist: 'outputs', format: 'markdown' });
  expect(formats).toEqual([{ format: 'pdf' }, { format: 'docx', extension: 'docx', new_key: 1 }]);
  expect(seen[0]?.url).toBe('/v1/convert/formats');
  expect((await readForm(seen[0])).data).toMatchObject({ parameters: { sublist: 'outputs', format: 'markdown' } });
});

it('format describes a single format', async () => {
  const { baseUrl } = await answering({ format: 'pdf', extension: 'pdf', type: null, categories: ['document'] });
  expect(await connectTo(baseUrl).format({ format: 'pdf' })).toMatchObject({ format: 'pdf', type: null });
});

describe('canConvert', () => {
  it('is true if the service finds a conversion', async () => {
    const { baseUrl, seen } = await answering({ is_match: true, is_reversable: false });
    expect(await connectTo(baseUrl).canConvert({ input: 'png', output: 'webp' })).toBe(true);
    expect((await readForm(seen[0])).data).toMatchObject({ parameters: { input: 'png', output: 'webp' } });
  });

  it('is true for an answer without an error, whatever its shape', async () => {
    const { baseUrl } = await answering({ steps: ['png', 'webp'] });
    expect(await connectTo(baseUrl).canConvert({ input: 'png', output: 'webp' })).toBe(true);
  });

  it('is false if the service says so, as an output or as an error', async () => {
    const said = await answering({ is_match: false, is_reversable: false });
    expect(await connectTo(said.baseUrl).canConvert({ input: 'png', output: 'docx' })).toBe(false);
    const refused = await answering({}, { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: 'png to docx' });
    expect(await connectTo(refused.baseUrl).canConvert({ input: 'png', output: 'docx' })).toBe(false);
  });

  it('fails for a format that the service does not know', async () => {
    const { baseUrl } = await answering({}, { code: 'INVALID_OUTPUT_FORMAT', message: 'wibble' });
    const failure = await failureOf(connectTo(baseUrl).canConvert({ input: 'png', output: 'wibble' }));
    expect(failure.code).toBe('INVALID_OUTPUT_FORMAT');
  });
});
