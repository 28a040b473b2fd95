import { printable } from '../../messages/wording';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escaped HTML. Only this file creates it, so that nothing reaches the page unescaped. */
export class Markup {
  private constructor(readonly text: string) {}

  /** Tagged template: escapes values unless they are `Markup`, joins lists, and drops undefined and false. */
  static html = (parts: TemplateStringsArray, ...values: readonly Insertable[]): Markup => {
    const pieces = parts.map((part, index) => part + (index < values.length ? textOf(values[index]) : ''));
    return new Markup(pieces.join(''));
  };

  /** Text in which backticks mark code. */
  static withCode(text: string): Markup {
    return new Markup(escape(text).replace(/`([^`]+)`/g, '<code>$1</code>'));
  }

  /** Constant text of this program, not escaped. */
  static constant(text: string): Markup {
    return new Markup(text);
  }
}

type Insertable = Markup | readonly Markup[] | string | number | undefined | false;

export const html = Markup.html;

function textOf(value: Insertable): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escape(String(value));
  return value.map(({ text }) => text).join('');
}

/** `printable` first: a character that changes the direction of writing could disguise the end of a name. */
function escape(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
