export const requestOf = (reader: string, writer: string) => ({
  route: { engine: 'libreoffice', reader, writer },
  inputPath: '',
  outputPath: '',
  title: 'a',
  inputFormat: reader,
  outputFormat: writer,
  parameters: {},
  timeoutMs: 1_000,
});
