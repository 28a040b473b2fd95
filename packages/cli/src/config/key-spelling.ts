/** `upload_deadline` of the file is `uploadDeadline` of the code. */
export function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** `uploadDeadline` of the code is `upload_deadline` of the file. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
