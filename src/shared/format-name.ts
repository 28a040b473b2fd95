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
