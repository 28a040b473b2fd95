import { inspect } from 'node:util';

/** What is shown in place of a secret. */
export const mask = '********';

/** A text that shows itself as a mask wherever it is printed, logged, serialised or inspected. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that sends it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
