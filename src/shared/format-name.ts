/** The form of a format's name: `pdf`, or `txt-markdown` for a variant. Which names there are is the service's word. */
const form = /^[a-z0-9]+([-_][a-z0-9]+)*$/i;

export function isFormatName(name: string): boolean {
  return form.test(name);
}

/** The name as services take it: `.PDF` is as good as `pdf`. Undefined when the text can be no name of a format. */
export function formatNameOf(text: string): string | undefined {
  const name = text.trim().toLowerCase().replace(/^\./, '');
  return isFormatName(name) ? name : undefined;
}
