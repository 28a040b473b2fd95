/** Parameters of a conversion besides its formats, by the service's names: `{ dpi: 300, page_size: 'a5' }`. */
export type ConversionParameters = Record<string, string | number | boolean>;

const name = /^[a-z]\w{0,63}$/i;
const maxParameters = 50;
const maxText = 1_000;

/** Problem with a job's parameters, or undefined. Never names a value, which may be a password. */
export function problemOfParameters(parameters: unknown): string | undefined {
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
    return 'must be an object such as { dpi: 300 }';
  }
  const entries: [string, unknown][] = Object.entries(parameters);
  if (entries.length > maxParameters) return `must be at most ${maxParameters}`;
  for (const [key, value] of entries) {
    if (!name.test(key)) return `${JSON.stringify(key)} is not a name such as page_size`;
    if (key === 'output' || key === 'input') return `must not name ${key}, which a job has beside them`;
    if (isParameterValue(value)) continue;
    return `${key} must be a number, true, false or text of at most ${maxText} characters`;
  }
  return undefined;
}

function isParameterValue(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= maxText;
  return typeof value === 'boolean' || Number.isFinite(value);
}

/** Equal for equivalent parameters; empty for none. */
export function parametersKey(parameters: ConversionParameters = {}): string {
  const entries = Object.entries(parameters).sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.length === 0 ? '' : JSON.stringify(entries);
}

/** Equal for conversions with the same options. The case of a format's name makes no difference. */
export function optionsKey({ output, input, parameters }: Options): string {
  return JSON.stringify([output.toLowerCase(), input?.toLowerCase() ?? null, parametersKey(parameters)]);
}

interface Options {
  output: string;
  input?: string | undefined;
  parameters?: ConversionParameters | undefined;
}

/** Merges the parameters of all rows with those of one, which take precedence; undefined if there are none. */
export function mergeParameters(
  common: ConversionParameters | undefined,
  own: ConversionParameters | undefined,
): ConversionParameters | undefined {
  const merged = { ...common, ...own };
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Parses one parameter: `dpi=300`. Numbers, true and false are values of their type; double quotes make them text. */
export function readParameter(text: string): ConversionParameters | undefined {
  const [, key, written = ''] = /^(\w+)=(.+)$/s.exec(text) ?? [];
  return key === undefined ? undefined : { [key]: valueOf(written) };
}

/** Parses parameters separated by spaces; double quotes keep spaces within a value. */
export function readParameters(text: string): ConversionParameters | undefined {
  const parts = text.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  let read: ConversionParameters | undefined = {};
  for (const part of parts) {
    const parameter = readParameter(part);
    read = read && parameter && { ...read, ...parameter };
  }
  return read;
}

function valueOf(written: string): string | number | boolean {
  if (written === 'true' || written === 'false') return written === 'true';
  // A number that would be written differently, such as 007, stays text.
  if (String(Number(written)) === written && Number.isFinite(Number(written))) return Number(written);
  return /^"[^"]*"$/s.test(written) ? written.slice(1, -1) : written;
}

/** Syntax of a format name: `pdf`, or `txt-markdown` for a variant. The service defines which names exist. */
const form = /^[a-z0-9]+([-_][a-z0-9]+)*$/i;

export function isFormatName(name: string): boolean {
  return form.test(name);
}

/** The normalized name: `.PDF` becomes `pdf`. Undefined when the text can't be a format name. */
export function formatNameOf(text: string): string | undefined {
  const name = text.trim().toLowerCase().replace(/^\./, '');
  return isFormatName(name) ? name : undefined;
}

/** Fallback extension for formats that the service does not describe. */
export function extensionFromName(format: string): string {
  return format.split('-', 1)[0] ?? format;
}
