/** The name of a job's result when the destination is a folder: the source's name with the target format as its extension. */
export function outputName(sourceName: string, output: string): string {
  const base = sourceName.replace(/\.[^.]*$/, '') || sourceName;
  // `txt-markdown` is the format `txt` in its variant `markdown`.
  return `${base}.${output.split('-', 1)[0] ?? output}`;
}
