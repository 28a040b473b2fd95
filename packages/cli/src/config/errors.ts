/** A configuration that cannot be used: one problem a line, each with its file or variable, the key, and what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'CONFIG_INVALID';

  constructor(
    readonly problems: readonly [string, ...string[]],
    options?: ErrorOptions,
  ) {
    super(problems.join('\n'), options);
  }
}
