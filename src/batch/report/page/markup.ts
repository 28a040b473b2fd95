import { printable } from '../../../shared/printable';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML as it may stand on the page. Only this file makes it, so that nothing gets there unescaped. */
export class Markup {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  /** Tagged template: what is put in is escaped unless it is `Markup`; lists are joined; nothing stands for undefined and false. */
  static html = (parts: TemplateStringsArray, ...values: readonly Insertable[]): Markup => {
    const pieces = parts.map((part, index) => part + (index < values.length ? textOf(values[index]) : ''));
    return new Markup(pieces.join(''));
  };

  /** Text in which what stands in backticks is code. */
  static withCode(text: string): Markup {
    return new Markup(escape(text).replace(/`([^`]+)`/g, '<code>$1</code>'));
  }

  /** Constant text of this program. */
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

/** Spelt out first: a character that turns the direction of writing would let a name end in what it does not. */
function escape(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
