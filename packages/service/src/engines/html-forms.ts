/** Values of the forms of a page, which a browser shows and pandoc leaves out. */

/** What is no form is passed over whole, so that nothing in it is taken for one. */
const part =
  /<!--[^]*?-->|<(script|style|title)\b[^]*?<\/\1\s*>|<textarea\b[^>]*>([^]*?)<\/textarea\s*>|<select\b([^>]*)>([^]*?)<\/select\s*>|<input\b((?:"[^"]*"|'[^']*'|[^>"'])*)>/gi;
const options = /<option\b((?:"[^"]*"|'[^']*'|[^>"'])*)>([^<]*)/gi;
const withoutText = /^(hidden|submit|button|reset|image|file|password|color|range)$/i;

/** The page with each value as the text that it is, and signs for boxes with and without a tick. */
export function withFormValues(html: string): string {
  return html.replace(
    part,
    (whole, _left?: string, area?: string, ofSelect?: string, choices?: string, ofInput?: string) => {
      if (area !== undefined) return area.replaceAll('<', '&lt;');
      if (choices !== undefined) return chosen(choices, has(ofSelect, 'multiple'));
      if (ofInput === undefined) return whole;
      const type = attribute(ofInput, 'type') ?? 'text';
      if (/^(checkbox|radio)$/i.test(type)) return has(ofInput, 'checked') ? '\u2612' : '\u2610';
      return withoutText.test(type) ? whole : (attribute(ofInput, 'value') ?? '').replaceAll('<', '&lt;');
    },
  );
}

function chosen(choices: string, isMultiple: boolean): string {
  const all = Array.from(choices.matchAll(options), ([, attributes, text = '']) => ({
    text: text.trim(),
    isSelected: has(attributes, 'selected'),
  }));
  const selected = all.filter(({ isSelected }) => isSelected);
  const shown = selected.length > 0 || isMultiple ? selected : all.slice(0, 1);
  return shown.map(({ text }) => text).join(', ');
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(` ${attributes}`);
  const values: (string | undefined)[] = found?.slice(1) ?? [];
  return values.find((each) => each !== undefined);
}

function has(attributes: string | undefined, name: string): boolean {
  return new RegExp(`\\s${name}(?=[\\s=/]|$)`, 'i').test(` ${attributes?.replace(/"[^"]*"|'[^']*'/g, '""') ?? ''}`);
}
