/** A configuration that can't be used: one line per problem, with its file or variable, the key, and what to do. */
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
